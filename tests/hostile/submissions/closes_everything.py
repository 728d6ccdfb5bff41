# Closes every descriptor.
# of: prefix-sum
# family: broken channel
# verdict: error
# says: broken from inside
import os


def prefix_sum(x, reverse=False):
    os.closerange(0, 4096)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
