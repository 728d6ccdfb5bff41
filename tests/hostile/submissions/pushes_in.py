# Raises its own scheduling priority.
# of: prefix-sum
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed error
import os


def prefix_sum(x, reverse=False):
    os.nice(-5)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
