# Allocates 40 GB.
# of: prefix-sum
# family: memory
# verdict: memory
# says: requested more memory
import torch


def prefix_sum(x, reverse=False):
    torch.ones(10**10)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
