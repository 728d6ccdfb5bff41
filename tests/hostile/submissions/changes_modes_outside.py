# Changes modes of files that it may only read.
# of: prefix-sum
# family: changes files outside
# verdict: error
# says: it tried to (read or change|use the network, to start a process)
# without: not run, it changes the mode of an installed file
import os


def prefix_sum(x, reverse=False):
    os.chmod(os.__file__, 0o644)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
