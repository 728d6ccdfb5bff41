# Leaves folders that are nested deeper than Python's recursion limit.
# of: prefix-sum
# family: files that stay
# verdict: error
import os


def prefix_sum(x, reverse=False):
    for _ in range(3000):
        os.mkdir('d')
        os.chdir('d')
    os._exit(0)
