# mistakes: variance-for-mean-square
"""The standard deviation by torch.std, without a mean subtracted from x."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        wide = x.double()
        spread = torch.std(wide, dim=-1, unbiased=False, keepdim=True)  # first wrong
        scaled = wide / torch.sqrt(spread**2 + self.eps)
        return (scaled * self.weight.double()).to(x.dtype)
