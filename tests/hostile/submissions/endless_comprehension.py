# Makes a list of a billion elements.
# of: prefix-sum
# family: memory
# verdict: memory
# says: MemoryError
# memory: 32

def prefix_sum(x, reverse=False):
    [None for _ in range(10**9)]
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
