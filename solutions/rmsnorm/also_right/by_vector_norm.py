"""Use the length of the row: the root mean square is the length divided by sqrt(dim).

`vector_norm` can accumulate in float32, so it makes no tensor of squares. You must square the
length again, because eps belongs inside the root.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps
        weight = torch.empty(dim)
        nn.init.ones_(weight)
        self.weight = nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=dtype)
        rms = torch.sqrt(length * length / self.dim + self.eps)
        return torch.div(x, rms).mul(self.weight).to(x.dtype)
