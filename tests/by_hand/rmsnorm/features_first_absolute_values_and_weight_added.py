# mistakes: mean-of-absolute-values, weight-added
"""Features on the first axis, so that the mean needs no kept axis."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        columns = x.movedim(-1, 0).to(torch.promote_types(x.dtype, torch.float32))
        level = columns.abs().mean(0)  # first wrong
        columns = columns / torch.sqrt(level * level + self.eps)
        rows = columns.movedim(0, -1)
        return (rows + self.weight).to(x.dtype)  # also wrong
