# Takes a descriptor out of the fork server, for example the socket with the grader's orders.
# of: prefix-sum
# base: system_calls
# family: reads other processes
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed error


def prefix_sum(x, reverse=False):
    parent = call("pidfd_open", os.getppid(), 0)
    os.close(call("pidfd_getfd", parent, 0, 0))
    os.close(parent)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
