# mistakes: scale-by-memory-dim
"""A module that cuts a projection into heads, one that looks up, and the layer that wires them."""

import math

import torch
from torch import Tensor, nn


class Project(nn.Module):
    """[B, L, width] -> [B, H, L, D]"""

    def __init__(self, width: int, d_model: int, num_heads: int, bias: bool):
        super().__init__()
        self.head_dim = d_model // num_heads
        self.linear = nn.Linear(width, d_model, bias=bias)

    def forward(self, t: Tensor) -> Tensor:
        return torch.stack(self.linear(t).split(self.head_dim, dim=-1), dim=1)


class Lookup(nn.Module):
    def __init__(self, temperature: float):
        super().__init__()
        self.temperature = temperature

    def forward(self, q: Tensor, k: Tensor, v: Tensor, padding: Tensor | None) -> Tensor:
        scores = torch.matmul(q, k.transpose(2, 3)) / self.temperature
        if padding is not None:
            scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
        return torch.matmul(torch.softmax(scores, dim=-1), v)


class CrossAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, memory_dim: int | None = None, bias: bool = True):
        super().__init__()
        assert d_model % num_heads == 0, "d_model % num_heads"
        memory_dim = d_model if memory_dim is None else memory_dim
        self.query = Project(d_model, d_model, num_heads, bias)
        self.key = Project(memory_dim, d_model, num_heads, bias)
        self.value = Project(memory_dim, d_model, num_heads, bias)
        self.lookup = Lookup(math.sqrt(memory_dim / num_heads))  # first wrong
        self.output = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        padding = None if memory_mask is None else ~memory_mask[:, None, None, :]
        found = self.lookup(self.query(x), self.key(memory), self.value(memory), padding)
        return self.output(torch.cat(found.unbind(1), dim=-1))
