# Ends the process with exit code 0.
# of: prefix-sum
# family: exit
# verdict: error
# says: the process ended itself
import os


def prefix_sum(x, reverse=False):
    os._exit(0)
