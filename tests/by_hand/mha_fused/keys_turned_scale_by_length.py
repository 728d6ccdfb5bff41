# mistakes: scale-by-length
"""Modules inside modules; the keys leave theirs already turned, [B, H, D, L]."""

import torch
from torch import nn


class Parts(nn.Module):
    def __init__(self, d_model, num_heads, bias):
        super().__init__()
        self.num_heads = num_heads
        self.linear = nn.Linear(d_model, 3 * d_model, bias=bias)

    def forward(self, x):
        queries, keys, values = self.linear(x).tensor_split(3, dim=-1)
        queries = torch.stack(queries.chunk(self.num_heads, dim=2), dim=1)
        keys = torch.stack(keys.mT.chunk(self.num_heads, dim=1), dim=1)
        values = torch.stack(values.chunk(self.num_heads, dim=2), dim=1)
        return queries, keys, values


class Attention(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        scores = torch.matmul(q, k)
        scores = scores * k.size(-1) ** -0.5  # first wrong
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -1e9)
        weights = scores.log_softmax(dim=-1).exp()
        return torch.matmul(self.dropout(weights), v)


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model=} {num_heads=}")
        self.qkv = Parts(d_model, num_heads, bias)
        self.attention = Attention(dropout)
        self.out = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, mask=None):
        q, k, v = self.qkv(x)
        heads = self.attention(q, k, v, mask)
        return self.out(torch.cat(heads.unbind(dim=1), dim=-1))
