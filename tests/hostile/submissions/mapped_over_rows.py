# Right; by vmap over the rows.
# of: prefix-sum
# family: right: unusual function
# verdict: passed
import torch


def prefix_sum(x, reverse=False):
    return torch.vmap(lambda row: row.flip(-1).cumsum(-1).flip(-1) if reverse else row.cumsum(-1))(x)
