# Lets its parent trace it, so that signals stop it instead of ending it.
# Must not happen: the parent takes a stop for an end, or waits for an end forever.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: timeout error
# seconds: 0.5
import ctypes, os, signal

NUMBERS = {"ptrace": (101, 117)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    call("ptrace", 0, 0, 0, 0)  # PTRACE_TRACEME
    signal.raise_signal(signal.SIGUSR1)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
