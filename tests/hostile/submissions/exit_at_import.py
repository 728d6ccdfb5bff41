# sys.exit at import.
# of: prefix-sum
# verdict: error
# says: sys.exit\(0\)
import sys

sys.exit(0)


def prefix_sum(x, reverse=False):
    return x
