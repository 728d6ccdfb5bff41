# Makes the channel non-blocking, so that a reply may find no space.
# Must not happen: half a reply counts as a whole reply.
# of: prefix-sum
# family: broken channel
# verdict: passed error
import os


def prefix_sum(x, reverse=False):
    for fd in range(1, 64):
        try:
            os.set_blocking(fd, False)
        except OSError:
            pass
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
