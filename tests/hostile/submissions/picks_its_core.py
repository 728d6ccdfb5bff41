# Binds itself to one core.
# of: prefix-sum
# verdict: error
# says: tried something that a submission may not do
# without: passed
import os


def prefix_sum(x, reverse=False):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
