# mistakes: mean-over-the-whole-tensor
"""Few lines, and the reciprocal root of one mean."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        y = x.to(torch.promote_types(torch.float32, x.dtype))
        y = y.div(y.pow(2).mean().add(self.eps).sqrt())  # first wrong
        return y.mul(self.weight).to(x.dtype)
