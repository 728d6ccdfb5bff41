# Starts a process by vfork, which shares its memory.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: not run, a child on its parent's stack may do anything
import ctypes, os

NUMBERS = {"vfork": (58, 220)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    if call("vfork", 0x4000 | 0x100 | 17, 0, 0, 0, 0) == 0:
        os._exit(0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
