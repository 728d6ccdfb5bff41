# Changes the flags of a file that is open for reading: the kernel checks only the owner.
# of: prefix-sum
# family: changes files outside
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, it changes the flags of an installed file
import fcntl, os, struct


def prefix_sum(x, reverse=False):
    with open(os.__file__, "rb") as file:
        fcntl.ioctl(file, 0x40086602, struct.pack("<q", 0x80))  # FS_IOC_SETFLAGS, FS_NOATIME_FL
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
