"""Pad the past and the new tokens with zeros to the full length and add them, in a NamedTuple.

The result is the same as with torch.cat, but k and v each write three tensors of the full length
instead of one.
"""

from typing import NamedTuple, Optional
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class KV(NamedTuple):
    k: Tensor
    v: Tensor

    @property
    def length(self):
        return self.k.shape[2]

    def extend(self, k, v):
        n, p = k.shape[2], self.length
        grow = lambda old, new: F.pad(old, (0, 0, 0, n)) + F.pad(new, (0, 0, p, 0))
        return KV(grow(self.k, k), grow(self.v, v))


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.H = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = [
            nn.Linear(d_model, d_model, bias) for _ in range(4)
        ]

    def forward(self, x: Tensor, past_kv=None, use_cache: bool = False):
        split = lambda t: t.unflatten(-1, (self.H, -1)).transpose(1, 2)
        q, kv = split(self.q_proj(x)), KV(split(self.k_proj(x)), split(self.v_proj(x)))
        if past_kv is not None:
            kv = KV(*past_kv).extend(*kv)
        total, new = kv.length, x.shape[1]
        i = torch.arange(total - new, total, device=x.device)[:, None]
        j = torch.arange(total, device=x.device)
        s = (q @ kv.k.mT) * q.shape[-1] ** -0.5 + torch.zeros((), dtype=x.dtype).masked_fill(
            j > i, float("-inf")
        )
        y = self.o_proj((F.softmax(s, -1) @ kv.v).transpose(1, 2).flatten(2))
        if use_cache:
            return y, kv
        return y
