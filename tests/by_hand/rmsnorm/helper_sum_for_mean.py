# mistakes: sum-for-mean
"""A function outside of the class divides by the length of the row."""

import torch
from torch import nn


def unit_rows(rows, eps):
    power = torch.einsum("...d,...d->...", rows, rows)  # first wrong
    return rows / torch.sqrt(power + eps)[..., None]


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        kind = torch.promote_types(x.dtype, torch.float32)
        return unit_rows(x.type(kind), self.eps).mul(self.weight).type(x.dtype)
