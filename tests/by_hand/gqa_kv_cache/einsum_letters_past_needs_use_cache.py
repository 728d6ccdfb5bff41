# mistakes: past-needs-use-cache
"""The past is read only when a cache is asked for."""

import torch
import torch.nn as nn
from torch import einsum


class HeadSplit(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.n, self.d = n, d

    def forward(self, t):
        return t.unflatten(-1, (self.n, self.d)).movedim(-2, 1)


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError("d_model / heads / kv heads")
        D = d_model // num_heads
        self.q_proj = nn.Linear(d_model, num_heads * D, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * D, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * D, bias=bias)
        self.o_proj = nn.Linear(num_heads * D, d_model, bias=bias)
        self.split_q = HeadSplit(num_heads, D)
        self.split_kv = HeadSplit(num_kv_heads, D)
        self.num_kv_heads = num_kv_heads
        self.scale = D**-0.5

    def forward(self, x, past_kv=None, use_cache=False):
        q = self.split_q(self.q_proj(x)) * self.scale
        k = self.split_kv(self.k_proj(x))
        v = self.split_kv(self.v_proj(x))

        if use_cache and past_kv is not None:  # first wrong
            k = torch.cat([past_kv[0], k], dim=2)
            v = torch.cat([past_kv[1], v], dim=2)

        Lq, Lk = q.size(2), k.size(2)
        q = q.unflatten(1, (self.num_kv_heads, -1))
        sim = einsum("bngqd,bnkd->bngqk", q, k)

        future = torch.ones(Lq, Lk, device=x.device, dtype=torch.bool).triu(Lk - Lq + 1)
        sim = sim.masked_fill(future, float("-inf"))

        out = einsum("bngqk,bnkd->bqngd", sim.softmax(-1), v).flatten(2)
        out = self.o_proj(out)
        return (out, (k, v)) if use_cache else out
