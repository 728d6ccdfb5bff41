# Reads from a pipe to which nobody writes.
# of: prefix-sum
# family: time
# verdict: timeout
# says: still running at the time limit
# seconds: 0.5
import os


def prefix_sum(x, reverse=False):
    reading, writing = os.pipe()
    os.read(reading, 1)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
