"""Prefix sums: out_i = x_0 + … + x_i."""

import torch


def prefix_sum(x, reverse=False):
    if reverse:
        return torch.cumsum(x.flip(-1), dim=-1).flip(-1)
    return torch.cumsum(x, dim=-1)
