# Asks the kernel to watch folders that it may not read.
# of: prefix-sum
# base: system_calls
# family: reads outside
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed


def prefix_sum(x, reverse=False):
    os.close(call("inotify_init1", 0))
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
