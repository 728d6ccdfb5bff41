# Replaces every descriptor by /dev/null, so that no reply can arrive, and continues.
# of: prefix-sum
# family: broken channel
# verdict: error
# says: broken from inside|closed its channel|ended itself
import os


def prefix_sum(x, reverse=False):
    nowhere = os.open("/dev/null", os.O_RDWR)
    for fd in range(3, 64):
        if fd != nowhere:
            try:
                os.fstat(fd)
                os.dup2(nowhere, fd)
            except OSError:
                pass
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
