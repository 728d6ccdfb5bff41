# mistakes: heads-interleaved
"""Tokens before heads all the way, einsum with letters for every axis, an additive mask of finfo.min."""

import torch
from torch import einsum, nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not share {d_model} features evenly")
        self.h = num_heads
        self.d = d_model // num_heads
        self.wq = nn.Linear(d_model, d_model, bias=bias)
        self.wk = nn.Linear(d_model, d_model, bias=bias)
        self.wv = nn.Linear(d_model, d_model, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def cut(self, x):
        return x.unflatten(2, (self.d, self.h))  # first wrong

    def forward(self, query, key, value, mask=None, return_weights=False):
        q, k, v = self.cut(self.wq(query)), self.cut(self.wk(key)), self.cut(self.wv(value))
        sim = einsum("bidh,bjdh->bhij", q * self.d**-0.5, k)
        if mask is not None:
            sim = sim + torch.zeros(mask.shape, dtype=sim.dtype).masked_fill(~mask, torch.finfo(sim.dtype).min)
        attn = sim.softmax(dim=3)
        out = einsum("bhij,bjdh->bihd", self.drop(attn), v)
        out = self.wo(out.flatten(2))
        return (out, attn) if return_weights else out
