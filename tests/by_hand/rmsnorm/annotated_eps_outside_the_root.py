# mistakes: eps-outside-the-root
"""Type hints, and the root taken before eps is added."""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    weight: nn.Parameter

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps: float = eps
        self.weight = nn.Parameter(torch.ones((dim,)))

    def forward(self, x: Tensor) -> Tensor:
        h = x.float() if x.dtype is torch.bfloat16 else x
        rms = h.pow(2).mean(dim=-1, keepdim=True).sqrt()
        out = h / (rms + self.eps)  # first wrong
        return (self.weight * out).to(x.dtype)
