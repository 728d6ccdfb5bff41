# Sets flags by a call of Linux 6.17, so that nobody can change a file that it may only read.
# of: prefix-sum
# base: system_calls
# family: changes files outside
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, it changes the flags of an installed file
import struct


def prefix_sum(x, reverse=False):
    given = struct.pack("<QIIII", 0x80, 0, 0, 0, 0)  # FS_XFLAG_NODUMP
    call("file_setattr", -100, os.__file__.encode(), given, len(given), 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
