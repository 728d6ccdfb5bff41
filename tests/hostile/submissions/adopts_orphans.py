# Makes itself the reaper of orphans instead of the fork server, which would not see them.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: passed
import ctypes, os

NUMBERS = {"prctl": (157, 167)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    call("prctl", 36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
