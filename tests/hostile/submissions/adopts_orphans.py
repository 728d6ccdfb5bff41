# Makes itself the reaper of orphans instead of the fork server, which would not see them.
# of: prefix-sum
# base: system_calls
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed


def prefix_sum(x, reverse=False):
    call("prctl", 36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
