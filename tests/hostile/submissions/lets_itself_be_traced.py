# Changes its process attributes: who may trace it, and if it outlives its parent.
# of: prefix-sum
# base: system_calls
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed


def prefix_sum(x, reverse=False):
    call("prctl", 4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
    call("prctl", 1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG: none
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
