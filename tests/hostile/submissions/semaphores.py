# Makes a set of System V semaphores, which outlives the process.
# Must not happen: the set stays.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: not run, the set would stay
import ctypes, os

NUMBERS = {"semget": (64, 190)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    call("semget", 0, 9, 0o1600)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
