# Writes to files that are already unlinked.
# Must not happen: more than its share lies on the disk, linked or not.
# of: prefix-sum
# family: disk
# verdict: error
# says: wrote more than
# seconds: 30
import os, time


def prefix_sum(x, reverse=False):
    kept = []
    for number in range(9):
        kept.append(open(f"{number}", "wb", buffering=0))
        os.unlink(f"{number}")
        kept[-1].write(bytes(8 << 20))
    time.sleep(60)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
