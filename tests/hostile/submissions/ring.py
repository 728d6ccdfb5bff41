# Sets up io_uring, which could open, connect and read past a filter of system calls.
# of: prefix-sum
# base: system_calls
# family: network
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed error


def prefix_sum(x, reverse=False):
    os.close(call("io_uring_setup", 8, ctypes.create_string_buffer(120)))
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
