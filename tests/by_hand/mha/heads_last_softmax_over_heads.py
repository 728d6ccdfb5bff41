# mistakes: softmax-over-heads
"""Scores with the heads as their last axis, softmax written out as a nested function."""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if num_heads > d_model or d_model % num_heads > 0:
            raise ValueError(f"d_model {d_model}, num_heads {num_heads}")
        self.shape = (num_heads, d_model // num_heads)
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(d_model, d_model, bias=bias) for _ in range(4))
        self.attn_drop = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None, return_weights=False):
        def shares(t):
            e = torch.exp(t - t.detach().amax(dim=-1, keepdim=True))  # first wrong
            return e / e.sum(dim=-1, keepdim=True)

        heads, dim = self.shape
        q = self.to_q(query).unflatten(-1, self.shape)
        k = self.to_k(key).unflatten(-1, self.shape)
        v = self.to_v(value).unflatten(-1, self.shape)
        s = torch.einsum("bqhd,bkhd->bqkh", q, k) / math.sqrt(dim)
        if mask is not None:
            full = mask.expand(len(q), heads, q.shape[1], k.shape[1])
            s = s.masked_fill(~full.permute(0, 2, 3, 1), -math.inf)
        w = shares(s).permute(0, 3, 1, 2)
        o = self.attn_drop(w) @ v.transpose(1, 2)
        o = self.to_out(o.transpose(1, 2).flatten(-2))
        return (o, w) if return_weights else o
