# Makes a System V message queue, which outlives the process and takes uncounted memory.
# Must not happen: the queue stays.
# of: prefix-sum
# base: system_calls
# family: objects of the system
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, the queue would stay


def prefix_sum(x, reverse=False):
    call("msgget", 0, 0o1600)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
