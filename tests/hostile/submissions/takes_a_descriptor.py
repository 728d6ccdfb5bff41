# Takes a descriptor out of the fork server, for example the socket with the grader's orders.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: passed error
import ctypes, os

NUMBERS = {"pidfd_open": (434, 434), "pidfd_getfd": (438, 438)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    parent = call("pidfd_open", os.getppid(), 0)
    os.close(call("pidfd_getfd", parent, 0, 0))
    os.close(parent)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
