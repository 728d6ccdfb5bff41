# Imports a `__future__` feature that does not exist.
# of: prefix-sum
# family: no valid Python
# verdict: error
# says: SyntaxError: future feature nope is not defined
from __future__ import nope


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
