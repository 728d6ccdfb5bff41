# Takes all there is, keeps it, and goes on as if nothing had happened.
# Must not: the grader take what comes of it for the end of the worker's own code.
# of: prefix-sum
# verdict: memory passed error
# memory: 192
hoard = []


def prefix_sum(x, reverse=False):
    try:
        while True:
            hoard.append(bytearray(1 << 20))
    except MemoryError:
        pass
    try:
        while True:
            hoard.append(bytearray(1 << 12))
    except MemoryError:
        pass
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
