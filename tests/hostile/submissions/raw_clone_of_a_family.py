# Starts a process that shares its memory and has the fork server as its parent.
# Must not happen: the fork server gets a child that it does not know.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: not run, a child on a stack of its own runs into nowhere
import ctypes, os

NUMBERS = {"clone": (56, 220)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    stack = ctypes.create_string_buffer(1 << 16)
    call("clone", 0x100 | 0x8000 | 17, ctypes.addressof(stack) + (1 << 15), 0, 0, 0)  # CLONE_VM, CLONE_PARENT, SIGCHLD
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
