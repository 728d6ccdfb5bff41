# Reads and removes messages in another program's message queue, by the queue's id.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: not run, it could meet the queue of another program
import ctypes, os

NUMBERS = {"msgrcv": (70, 188), "msgctl": (71, 187)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    call("msgrcv", 0, ctypes.create_string_buffer(64), 8, 0, 0o4000)
    call("msgctl", 0, 2, 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
