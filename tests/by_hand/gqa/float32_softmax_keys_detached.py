# mistakes: keys-detached
"""Keys and values held as if in a cache, softmax in float32, the mask widened to every head first."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Cache(NamedTuple):
    keys: Tensor
    values: Tensor

    def widen(self, times: int) -> "Cache":
        return Cache(*(torch.stack([t] * times, dim=2).flatten(1, 2) for t in self))


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        self.head_dim, left = divmod(d_model, num_heads)
        self.times, over = divmod(num_heads, num_kv_heads)
        if left or over:
            raise ValueError(f"{d_model=}, {num_heads=}, {num_kv_heads=} leave a rest")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.p = dropout

    def store(self, x: Tensor) -> Cache:
        shape = (x.size(0), x.size(1), self.num_kv_heads, self.head_dim)
        keys = self.k_proj(x).detach().view(shape).swapaxes(1, 2)  # first wrong
        values = self.v_proj(x).view(shape).swapaxes(1, 2)
        return Cache(keys, values)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        b, n, _ = x.shape
        queries = self.q_proj(x).view(b, n, self.num_heads, self.head_dim).swapaxes(1, 2)
        cache = self.store(x).widen(self.times)
        energy = (queries @ cache.keys.mT).div(self.head_dim**0.5)
        if mask is not None:
            hidden = ~mask.expand(b, self.num_heads, n, n)
            energy = energy.masked_fill(hidden, -torch.inf)
        weights = F.softmax(energy, dim=-1, dtype=torch.promote_types(energy.dtype, torch.float32)).to(x.dtype)
        weights = F.dropout(weights, self.p, self.training)
        return self.o_proj((weights @ cache.values).swapaxes(1, 2).reshape(x.shape))
