# Takes all memory, keeps it, catches the errors and continues.
# Must not happen: the grader reports a failure of attn-drill's own code in the worker.
# of: prefix-sum
# family: memory
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
