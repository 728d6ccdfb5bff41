# Makes itself root in a new user namespace.
# of: prefix-sum
# base: system_calls
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, it changes what the process sees of the machine


def prefix_sum(x, reverse=False):
    call("unshare", 0x10000000 | 0x20000)  # CLONE_NEWUSER, CLONE_NEWNS
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
