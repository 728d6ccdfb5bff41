# mistakes: eps-fixed, weight-plus-one
"""The weight made by nn.init, and the norm in a static method."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.ones_(self.weight)

    @staticmethod
    def normalise(x):
        return x * torch.rsqrt(torch.mean(x.square(), -1, keepdim=True) + 1e-6)  # first wrong

    def forward(self, x):
        kind = torch.promote_types(x.dtype, torch.float32)
        return torch.mul(self.normalise(x.to(kind)), 1 + self.weight).to(x.dtype)  # also wrong
