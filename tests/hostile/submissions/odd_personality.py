# Changes its personality, to get memory at the same addresses each time.
# of: prefix-sum
# base: system_calls
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed


def prefix_sum(x, reverse=False):
    call("personality", 0x0040000)  # ADDR_NO_RANDOMIZE
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
