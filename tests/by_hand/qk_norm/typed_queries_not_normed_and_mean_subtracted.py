# mistakes: queries-not-normed, mean-subtracted
"""Type hints and small classes; q_norm is made and then forgotten."""

import math

import torch
from torch import Tensor, nn


class RootMeanSquare(nn.Module):
    def __init__(self, features: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.epsilon = epsilon

    def forward(self, t: Tensor) -> Tensor:
        wide = t.float() if t.dtype == torch.bfloat16 else t
        wide = wide - wide.mean(dim=-1, keepdim=True)  # first wrong
        size = torch.sqrt(torch.mean(wide**2, dim=-1, keepdim=True) + self.epsilon)
        return (wide / size).to(t.dtype) * self.weight


class QKNormAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, head_dim: int | None = None, eps: float = 1e-6) -> None:
        super().__init__()
        if head_dim is None and d_model % num_heads != 0:
            raise ValueError(f"{d_model} features, {num_heads} heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} heads, {num_kv_heads} key/value heads")
        self.head_dim = d_model // num_heads if head_dim is None else head_dim
        self.copies = num_heads // num_kv_heads
        self.q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.kv_proj = nn.Linear(d_model, 2 * num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        self.q_norm = RootMeanSquare(self.head_dim, eps)
        self.k_norm = RootMeanSquare(self.head_dim, eps)

    def split(self, t: Tensor) -> Tensor:
        return t.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        k, v = (self.split(t) for t in self.kv_proj(x).chunk(2, dim=-1))
        k = self.k_norm(k).repeat_interleave(self.copies, dim=1)
        v = v.repeat_interleave(self.copies, dim=1)
        scores = torch.matmul(self.split(self.q_proj(x)), k.transpose(-1, -2))  # also wrong
        scores = scores / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return self.out_proj(torch.matmul(weights, v).transpose(1, 2).flatten(2))
