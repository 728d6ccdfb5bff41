# Starts a program by posix_spawn, which needs no call of fork.
# of: prefix-sum
# family: processes
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed error
import os


def prefix_sum(x, reverse=False):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
