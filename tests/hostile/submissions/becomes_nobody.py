# Becomes another user, to whom the limits of this user would not apply.
# of: prefix-sum
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else|Invalid argument
# without: passed error
import os


def prefix_sum(x, reverse=False):
    os.setgid(65534)
    os.setuid(65534)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
