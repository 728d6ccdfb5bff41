# Calls sys.exit during the import.
# of: prefix-sum
# family: exit
# verdict: error
# says: sys.exit\(0\)
import sys

sys.exit(0)


def prefix_sum(x, reverse=False):
    return x
