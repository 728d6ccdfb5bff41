# Makes itself root in a new user namespace.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: not run, it changes what the process sees of the machine
import ctypes, os

NUMBERS = {"unshare": (272, 97)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    call("unshare", 0x10000000 | 0x20000)  # CLONE_NEWUSER, CLONE_NEWNS
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
