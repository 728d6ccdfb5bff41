# An endless loop in forward.
# of: prefix-sum
# family: time
# verdict: timeout
# says: still running at the time limit at line
# seconds: 0.5
import time


def prefix_sum(x, reverse=False):
    while True:
        time.sleep(0.001)
