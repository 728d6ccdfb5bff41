# Makes a named block of shared memory, which outlives the process.
# of: prefix-sum
# family: objects of the system
# verdict: error
# says: PermissionError|Read-only
# without: not run, the block would stay in /dev/shm
# must not exist: /dev/shm/attn-drill-escaped
from multiprocessing.shared_memory import SharedMemory


def prefix_sum(x, reverse=False):
    SharedMemory(create=True, size=1 << 20, name="attn-drill-escaped")
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
