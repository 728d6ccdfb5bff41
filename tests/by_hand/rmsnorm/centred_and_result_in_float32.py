# mistakes: mean-subtracted, result-in-float32
"""A class with a property for the dtype of the statistics."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def fine(self, x):
        return torch.float64 if x.dtype == torch.float64 else torch.float32

    def forward(self, x):
        h = x.to(self.fine(x))
        h = h - torch.mean(h, dim=-1, keepdim=True)  # first wrong
        power = torch.mean(h**2, dim=-1, keepdim=True)
        h = h / torch.sqrt(power + self.eps)
        return self.weight * h  # also wrong
