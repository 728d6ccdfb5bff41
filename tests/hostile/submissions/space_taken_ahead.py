# Allocates blocks on the disk without writing to them.
# of: prefix-sum
# family: disk
# verdict: error
# says: wrote more than
# seconds: 30
import os, time


def prefix_sum(x, reverse=False):
    for number in range(6):
        with open(f"{number}", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 15 << 20)
    time.sleep(60)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
