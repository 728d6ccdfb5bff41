# Makes a file of a terabyte that takes up no blocks.
# of: prefix-sum
# family: disk
# verdict: error
# says: a file of more than 16 MiB
import os


def prefix_sum(x, reverse=False):
    os.truncate(__file__, 1 << 40)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
