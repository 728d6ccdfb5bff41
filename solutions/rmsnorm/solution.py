"""RMSNorm: every row is divided by the root of the mean of its squares.

    out = x / sqrt(mean(x^2) + eps) * weight

No mean is subtracted and there is no bias, unlike in layer normalisation. Zhang and Sennrich 2019,
"Root Mean Square Layer Normalization"; the norm of Llama.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    """Normalise the last axis: x [..., dim] -> [..., dim]."""

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        # bfloat16 has 8 bits: squares, mean and root would be rounded one after the other
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean_square = wide.square().mean(dim=-1, keepdim=True)
        # eps is inside the root: a row of zeros stays 0
        normalised = wide * torch.rsqrt(mean_square + self.eps)
        scaled = normalised * self.weight
        return scaled.to(x.dtype)
