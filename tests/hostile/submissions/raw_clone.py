# Starts a process by the raw system call, which Python announces to no audit hook.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: passed
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
    if reverse:
        pid = call("clone", 17, 0, 0, 0, 0)  # SIGCHLD alone
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
