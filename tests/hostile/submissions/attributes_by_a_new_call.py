# Changes the access list of a file that it may only read, by a call of Linux 6.13.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: not run, it changes the access list of an installed file
import ctypes, os, struct

NUMBERS = {"setxattrat": (463, 463)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    entries = [(1, 6, -1), (4, 4, -1), (32, 4, -1)]  # owner, group and others, as they most likely are
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    given = struct.pack("<QII", ctypes.addressof(held := ctypes.create_string_buffer(value)), len(value), 0)
    call("setxattrat", -100, os.__file__.encode(), 0, b"system.posix_acl_access", given, len(given))
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
