# Signals the fork server by tgkill, which abort() needs; with signal 0, which does no harm.
# of: prefix-sum
# base: system_calls
# family: signals to others
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, it signals


def prefix_sum(x, reverse=False):
    call("tgkill", os.getppid(), os.getppid(), 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
