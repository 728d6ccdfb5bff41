# Locks a file that it may only read, so that other processes that lock it must wait.
# of: prefix-sum
# family: changes files outside
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed
import fcntl, os


def prefix_sum(x, reverse=False):
    with open(os.__file__, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
