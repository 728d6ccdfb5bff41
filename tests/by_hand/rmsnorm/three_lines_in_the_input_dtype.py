# mistakes: statistics-in-the-input-dtype
"""Everything in the dtype of x, in three lines."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        power = torch.mean(x * x, -1, True)  # first wrong
        return x / torch.sqrt(power + self.eps) * self.weight
