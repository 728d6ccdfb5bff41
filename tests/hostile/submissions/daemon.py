# Leaves behind a process that lives in its own session.
# of: prefix-sum
# family: processes
# verdict: failed
# says: it tried to use the network, to start a process, or to do something else
# without: passed
import os, time


def prefix_sum(x, reverse=False):
    if reverse and not x.requires_grad and os.fork() == 0:
        os.setsid()
        time.sleep(600)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
