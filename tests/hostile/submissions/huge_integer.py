# Returns an integer with a hundred million bits.
# of: prefix-sum
# family: odd results
# verdict: failed error
# says: an int

def prefix_sum(x, reverse=False):
    return 1 << 10**8
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
