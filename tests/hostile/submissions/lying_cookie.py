# -*- coding: no-such-code -*-
# Says that it is written in a code that nobody knows; it is UTF-8, as every file here.
# of: prefix-sum
# family: right: unusual text
# verdict: passed


def prefix_sum(x, reverse=False):
    größe = "→ ∑"
    assert len(größe) == 3
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
