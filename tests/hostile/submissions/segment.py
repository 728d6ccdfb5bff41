# Makes a System V memory segment, which no limit counts and which outlives the process.
# Must not happen: the segment stays.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: not run, the segment would stay
import ctypes, os

NUMBERS = {"shmget": (29, 194)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    call("shmget", 0, 1 << 30, 0o1600)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
