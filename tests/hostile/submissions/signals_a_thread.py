# Signals the fork server by tgkill, which abort() needs; with signal 0, which does no harm.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: not run, it signals
import ctypes, os

NUMBERS = {"tgkill": (234, 131)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    call("tgkill", os.getppid(), os.getppid(), 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
