# Maps 40 GiB of shared memory.
# of: prefix-sum
# family: memory
# verdict: memory
import mmap


def prefix_sum(x, reverse=False):
    mmap.mmap(-1, 40 << 30)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
