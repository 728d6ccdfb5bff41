# Makes a device file in its own folder. This device is harmless, but other devices are not.
# of: prefix-sum
# family: rights of a process
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed error
import os


def prefix_sum(x, reverse=False):
    if not os.path.exists("null"):
        os.mknod("null", 0o20600, os.makedev(1, 3))
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
