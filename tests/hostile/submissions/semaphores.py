# Makes a set of System V semaphores, which outlives the process.
# Must not happen: the set stays.
# of: prefix-sum
# base: system_calls
# family: objects of the system
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, the set would stay


def prefix_sum(x, reverse=False):
    call("semget", 0, 9, 0o1600)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
