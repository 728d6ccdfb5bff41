# Forks twice and leaves its session in between: the grandchild is not in the parent's group.
# Must not happen: the grandchild lives on.
# of: prefix-sum
# family: processes
# verdict: failed
# says: it tried to use the network, to start a process, or to do something else
# without: passed
import os, time


def prefix_sum(x, reverse=False):
    if reverse and not x.requires_grad:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            while True:
                time.sleep(60)
        os.waitpid(pid, 0)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
