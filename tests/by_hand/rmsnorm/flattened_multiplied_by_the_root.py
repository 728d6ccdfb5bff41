# mistakes: multiplied-by-the-root
"""Rows as a matrix, and a matrix product for the mean."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        rows = x.reshape(-1, self.dim)
        rows = rows if rows.dtype == torch.float64 else rows.float()
        power = rows.square() @ rows.new_full((self.dim, 1), 1 / self.dim)
        root = (power + self.eps).sqrt()
        scaled = rows * root  # first wrong
        return torch.mul(scaled, self.weight).reshape(x.shape).to(x.dtype)
