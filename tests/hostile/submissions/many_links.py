# Makes endless links to one file.
# of: prefix-sum
# family: disk
# verdict: error
# says: wrote more than
# seconds: 30
import os, time


def prefix_sum(x, reverse=False):
    for number in range(20_000):
        os.link(__file__, f"{number}")
    time.sleep(60)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
