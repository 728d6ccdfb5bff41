# Writes to its own memory through /proc, which ignores the permissions of pages.
# of: prefix-sum
# family: reads other processes
# verdict: error
# says: tried to read or change /proc/self/mem
# without: passed error
import ctypes


def prefix_sum(x, reverse=False):
    kept = ctypes.create_string_buffer(b"read only", 16)
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(ctypes.addressof(kept))
        memory.write(b"overwritten")
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
