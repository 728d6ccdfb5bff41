# Has an object whose `__del__` waits, in the middle of a run.
# of: prefix-sum
# family: time
# verdict: timeout
# says: still running at the time limit
# seconds: 0.5
import time


class Clinging:
    def __del__(self):
        time.sleep(600)


def prefix_sum(x, reverse=False):
    Clinging()
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
