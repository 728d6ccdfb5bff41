# Sets flags by a call of Linux 6.17, so that nobody can change a file that it may only read.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: not run, it changes the flags of an installed file
import ctypes, os, struct

NUMBERS = {"file_setattr": (469, 469)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    given = struct.pack("<QIIII", 0x80, 0, 0, 0, 0)  # FS_XFLAG_NODUMP
    call("file_setattr", -100, os.__file__.encode(), given, len(given), 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
