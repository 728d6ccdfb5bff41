"""Compile the attention with torch.jit.script, and skip the mask if there is one new token.

A decode step builds no mask and makes no masked copy of the scores. TorchScript is deprecated in
favour of torch.compile, and it accepts only a part of Python.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Cache(NamedTuple):
    keys: Tensor
    values: Tensor

    def extended(self, keys, values):
        return Cache(torch.cat((self.keys, keys), 2), torch.cat((self.values, values), 2))


@torch.jit.script
def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    new, total = q.size(2), k.size(2)
    scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.size(3))
    if new > 1:
        hidden = torch.ones(new, total, dtype=torch.bool, device=q.device).triu(total - new + 1)
        scores = scores.masked_fill(hidden, -float("inf"))
    return torch.matmul(torch.softmax(scores, -1), v)


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads > 0:
            raise ValueError(f"d_model {d_model}, num_heads {num_heads}: not divisible")
        self.num_heads = num_heads
        for name in ("W_query", "W_key", "W_value", "out_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def _heads(self, t):
        return t.view(t.size(0), t.size(1), self.num_heads, -1).transpose(1, 2)

    def forward(self, x, past_kv=None, use_cache=False):
        cache = Cache(self._heads(self.W_key(x)), self._heads(self.W_value(x)))
        if past_kv is not None:
            cache = Cache(*past_kv).extended(*cache)
        y = attend(self._heads(self.W_query(x)), cache.keys, cache.values)
        y = self.out_proj(y.transpose(1, 2).reshape(x.shape))
        return (y, cache) if use_cache else y
