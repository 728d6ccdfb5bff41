# Reads the memory of the fork server without opening a file.
# of: prefix-sum
# verdict: error
# says: it tried something that a submission may not do
# without: passed error
import ctypes, os, struct

NUMBERS = {"process_vm_readv": (310, 270)}  # on x86_64 and aarch64

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    number = NUMBERS[name][("x86_64", "aarch64").index(os.uname().machine)]
    found = libc.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def prefix_sum(x, reverse=False):
    here, found = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
    local = struct.pack("QQ", ctypes.addressof(found), 8)
    remote = struct.pack("QQ", ctypes.addressof(here), 8)  # the parent has the same addresses
    call("process_vm_readv", os.getppid(), local, 1, remote, 1, 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
