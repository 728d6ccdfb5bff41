# Starts a process by vfork, which shares its memory.
# of: prefix-sum
# base: system_calls
# family: processes
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, a child on its parent's stack may do anything


def prefix_sum(x, reverse=False):
    if call("vfork", 0x4000 | 0x100 | 17, 0, 0, 0, 0) == 0:
        os._exit(0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
