# Opens a named pipe that nobody else will ever open.
# of: prefix-sum
# verdict: timeout
# says: still running at the time limit
# seconds: 1.2
import os


def prefix_sum(x, reverse=False):
    os.mkfifo("pipe")
    open("pipe")
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
