# mistakes: weight-plus-one
"""Like the norm of Gemma, with a method for the norm."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.full((dim,), 1.0))

    def _norm(self, x):
        return x * (x.square().mean(-1, keepdim=True) + self.eps).pow(-0.5)

    def forward(self, x):
        if x.dtype == torch.float64:
            out = self._norm(x)
        else:
            out = self._norm(x.float())
        out = out * (1.0 + self.weight.to(out.dtype))  # first wrong
        return out.type_as(x)
