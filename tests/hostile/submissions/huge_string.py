# Makes a huge string by multiplication.
# of: prefix-sum
# family: memory
# verdict: memory
# says: MemoryError

def prefix_sum(x, reverse=False):
    "x" * (1 << 40)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
