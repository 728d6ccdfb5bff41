# Leaves behind a process that lives in its own session.
# of: prefix-sum
# verdict: error
# says: OSError: it tried to start a process
# without: passed
import os, time


def prefix_sum(x, reverse=False):
    if reverse and not x.requires_grad and os.fork() == 0:
        os.setsid()
        time.sleep(600)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
