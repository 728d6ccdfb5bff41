# Returns a tensor of the right shape that has no values.
# of: prefix-sum
# family: odd results
# verdict: failed
# says: meta

def prefix_sum(x, reverse=False):
    return x.detach().to("meta")
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
