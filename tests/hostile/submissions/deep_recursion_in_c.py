# Overflows the C stack.
# of: prefix-sum
# family: crash
# verdict: error
import sys

sys.setrecursionlimit(10**9)


def prefix_sum(x, reverse=False):
    def down():
        return down()
    class Deep:
        def __getattr__(self, name):
            return getattr(self, name + 'x')
    return Deep().x
