# mistakes: softmax-over-heads-and-keys
"""Scores as [B, Lq, H, Lk], a row a token, by einsum; tokens stay in front of heads all the way."""

import math

import torch
from torch import einsum, nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model=} {num_heads=}"
        self.head = (num_heads, d_model // num_heads)
        self.wq = nn.Linear(d_model, d_model, bias=bias)
        self.wk = nn.Linear(d_model, d_model // num_heads, bias=bias)
        self.wv = nn.Linear(d_model, d_model // num_heads, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        h, d = self.head
        s = einsum("bihd,bjd->bihj", self.wq(x).unflatten(2, self.head) / math.sqrt(d), self.wk(x))
        if mask is not None:
            s = s.masked_fill(mask.expand(b, h, n, n).transpose(1, 2).logical_not(), -math.inf)
        row = s.reshape(b, n, h * n)
        w = row.softmax(dim=2).reshape(b, n, h, n)  # first wrong
        return self.wo(einsum("bihj,bjd->bihd", self.drop(w), self.wv(x)).flatten(2))
