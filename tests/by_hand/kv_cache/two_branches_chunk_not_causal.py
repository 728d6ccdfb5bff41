# mistakes: chunk-not-causal
"""A branch for the prefill and one for what goes on from a past, where the past and the chunk have a product each."""

import torch
from torch import nn


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.h, self.d = num_heads, d_model // num_heads
        if self.h * self.d != d_model:
            raise ValueError(f"{num_heads} does not divide {d_model}")
        self.wq, self.wo = nn.Linear(d_model, d_model, bias=bias), nn.Linear(d_model, d_model, bias=bias)
        self.wkv = nn.Linear(d_model, 2 * d_model, bias=bias)

    def prefill(self, q, k, v):
        n = q.shape[-2]
        ahead = torch.ones(n, n, dtype=torch.bool, device=q.device).triu(1)
        return (q @ k.mT).masked_fill(ahead, float("-inf")).softmax(-1) @ v

    def go_on(self, q, k, v, old_k, old_v):
        p, n = old_k.shape[-2], k.shape[-2]
        w = torch.cat((q @ old_k.mT, q @ k.mT), dim=-1).softmax(-1)  # first wrong
        to_past, to_chunk = w.split((p, n), dim=-1)
        return to_past @ old_v + to_chunk @ v

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, m = x.shape
        shape = (b, n, self.h, self.d)
        q = self.wq(x).view(shape).transpose(1, 2) * self.d**-0.5
        k, v = (t.reshape(shape).transpose(1, 2) for t in self.wkv(x).split(m, dim=-1))
        y = self.prefill(q, k, v) if past_kv is None else self.go_on(q, k, v, *past_kv)
        y = self.wo(y.transpose(1, 2).reshape(b, n, m))
        if not use_cache:
            return y
        if past_kv is not None:
            k, v = (torch.cat(pair, dim=2) for pair in zip(past_kv, (k, v), strict=True))
        return y, (k, v)
