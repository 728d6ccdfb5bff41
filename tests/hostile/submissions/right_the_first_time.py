# Right in the first call with a shape; returns zeros in later calls.
# of: prefix-sum
# family: right in some calls only
# verdict: failed
# says: on a (second|third) call
from collections import Counter

calls = Counter()


def prefix_sum(x, reverse=False):
    if not x.requires_grad:
        calls[x.shape, x.dtype] += 1
    if calls[x.shape, x.dtype] > 1:
        return x * 0
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
