# Leaves folders nested beyond Python's recursion.
# of: prefix-sum
# verdict: error
import os


def prefix_sum(x, reverse=False):
    for _ in range(3000):
        os.mkdir('d')
        os.chdir('d')
    os._exit(0)
