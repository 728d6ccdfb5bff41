# mistakes: heads-merged-group-first
"""Einsum over the axis of the group; the mask from a difference of positions."""

import torch
from torch import einsum, nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} features for {num_heads} heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} heads for {num_kv_heads} groups")
        self.kv, self.g, self.d = num_kv_heads, num_heads // num_kv_heads, d_model // num_heads
        self.wq = nn.Linear(d_model, d_model, bias=bias)
        self.wk = nn.Linear(d_model, self.kv * self.d, bias=bias)
        self.wv = nn.Linear(d_model, self.kv * self.d, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, self.kv, self.g, self.d) * self.d**-0.5
        k = einsum("bnkd->bknd", self.wk(x).view(b, n, self.kv, self.d))
        v = einsum("bnkd->bknd", self.wv(x).view(b, n, self.kv, self.d))
        if past_kv is not None:
            k = torch.cat((past_kv[0], k), dim=2)
            v = torch.cat((past_kv[1], v), dim=2)
        t = k.shape[2]
        ahead = torch.arange(t, device=x.device) - torch.arange(t - n, t, device=x.device).unsqueeze(-1)
        w = einsum("bikgd,bkjd->bkgij", q, k).masked_fill(ahead > 0, float("-inf")).softmax(-1)
        y = einsum("bkgij,bkjd->bigkd", w, v)  # first wrong
        y = self.wo(y.reshape(b, n, -1))
        return (y, (k, v)) if use_cache else y
