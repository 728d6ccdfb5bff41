# mistakes: scale-by-width-of-keys, causal-from-column-zero
"""A module for the memory, one for the weights, one for the whole; the scale sits in the module of the weights."""

import torch
import torch.nn.functional as F
from torch import nn


class Append(nn.Module):
    def forward(self, old, new):
        if old is None:
            return new
        return tuple(torch.cat(pair, dim=2) for pair in zip(old, new, strict=True))


class Weights(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, q, k):
        n, t = q.size(-2), k.size(-2)
        scores = torch.einsum("bkgid,bkjd->bkgij", q * self.scale, k)
        lower = torch.tril(torch.ones(n, t, device=q.device)).bool()  # also wrong
        return F.softmax(scores.masked_fill(~lower, float("-inf")), dim=-1)


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model}, num_heads={num_heads}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads={num_heads}, num_kv_heads={num_kv_heads}")
        self.num_kv_heads = num_kv_heads
        self.kv_dim = d_model // num_heads * num_kv_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, self.kv_dim, bias=bias)
        self.W_v = nn.Linear(d_model, self.kv_dim, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.append = Append()
        self.weights = Weights(self.kv_dim**-0.5)  # first wrong

    def heads(self, t):
        return t.view(*t.shape[:2], self.num_kv_heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, m = x.shape
        cache = self.append(past_kv, (self.heads(self.W_k(x)), self.heads(self.W_v(x))))
        k, v = cache
        q = self.W_q(x).view(b, n, self.num_kv_heads, -1, k.size(-1)).permute(0, 2, 3, 1, 4)
        y = torch.einsum("bkgij,bkjd->bikgd", self.weights(q, k), v).reshape(b, n, m)
        y = self.W_o(y)
        return (y, cache) if use_cache else y
