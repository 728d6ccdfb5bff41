# Raises its own limits.
# of: prefix-sum
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed error
import resource


def prefix_sum(x, reverse=False):
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
