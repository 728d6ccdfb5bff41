# Replaces itself by a new interpreter, in which nothing would be overridden.
# of: prefix-sum
# family: processes
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
import os


def prefix_sum(x, reverse=False):
    os.execv("/proc/self/exe", ["python", "-I", "-S", "-c", "pass"])
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
