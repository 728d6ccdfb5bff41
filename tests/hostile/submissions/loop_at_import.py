# Contains an endless loop that runs during the import.
# of: prefix-sum
# family: time
# verdict: timeout
# says: while the file was imported: still running at the time limit
# seconds: 0.5
import time

while True:
    time.sleep(0.001)


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
