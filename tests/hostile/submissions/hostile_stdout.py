# Replaces stdout by an object that raises an interrupt when it is used.
# of: prefix-sum
# family: odd output
# verdict: error
# says: broken from inside
import sys


class Out:
    def __getattr__(self, name):
        raise KeyboardInterrupt


sys.stdout = sys.stderr = Out()


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
