# Makes a System V memory segment, which no limit counts and which outlives the process.
# Must not happen: the segment stays.
# of: prefix-sum
# base: system_calls
# family: objects of the system
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, the segment would stay


def prefix_sum(x, reverse=False):
    call("shmget", 0, 1 << 30, 0o1600)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
