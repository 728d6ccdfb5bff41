"""Compile the attention with torch.jit.script, and skip the mask if there is one new token.

The heads are repeated as in the reference, but a decode step builds no mask and makes no masked
copy of the scores. TorchScript is deprecated in favour of torch.compile.
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
    group = q.size(1) // k.size(1)
    k = torch.repeat_interleave(k, group, 1)
    v = torch.repeat_interleave(v, group, 1)
    scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.size(3))
    if new > 1:
        hidden = torch.ones(new, total, dtype=torch.bool, device=q.device).triu(total - new + 1)
        scores = scores.masked_fill(hidden, -float("inf"))
    return torch.matmul(torch.softmax(scores, -1), v)


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads > 0 or num_heads % num_kv_heads > 0:
            raise ValueError(f"d_model {d_model}, num_heads {num_heads}, num_kv_heads {num_kv_heads}: not divisible")
        self.head_dim = d_model // num_heads
        widths = {"W_query": d_model, "W_key": num_kv_heads * self.head_dim, "W_value": num_kv_heads * self.head_dim, "out_proj": d_model}
        for name, width in widths.items():
            setattr(self, name, nn.Linear(d_model, width, bias=bias))

    def _heads(self, t):
        return t.view(t.size(0), t.size(1), -1, self.head_dim).transpose(1, 2)

    def forward(self, x, past_kv=None, use_cache=False):
        cache = Cache(self._heads(self.W_key(x)), self._heads(self.W_value(x)))
        if past_kv is not None:
            cache = Cache(*past_kv).extended(*cache)
        y = attend(self._heads(self.W_query(x)), cache.keys, cache.values)
        y = self.out_proj(y.transpose(1, 2).reshape(x.shape))
        return (y, cache) if use_cache else y
