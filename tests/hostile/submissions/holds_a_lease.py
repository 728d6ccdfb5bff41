# Holds a lease on a compiled module, so that every program that opens it for writing must wait.
# of: prefix-sum
# family: changes files outside
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, others would wait for it
import fcntl, os, sys


def prefix_sum(x, reverse=False):
    with open(os.__spec__.cached or os.__file__, "rb") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
