# Reads the memory of the fork server without opening a file.
# of: prefix-sum
# base: system_calls
# family: reads other processes
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: passed error
import struct


def prefix_sum(x, reverse=False):
    here, found = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
    local = struct.pack("QQ", ctypes.addressof(found), 8)
    remote = struct.pack("QQ", ctypes.addressof(here), 8)  # the parent has the same addresses
    call("process_vm_readv", os.getppid(), local, 1, remote, 1, 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
