# mistakes: mask-transposed
"""Three layers, and the scores lying on their side: [B, H, Lk, Lq], a column a query."""

from math import sqrt

import torch
from torch import nn


def heads_of(t, h):
    b, n, m = t.shape
    return t.view(b, n, h, m // h).permute(0, 2, 1, 3)


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, "the heads must be of one width"
        self.h = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q, k, v = heads_of(self.W_q(x), self.h), heads_of(self.W_k(x), self.h), heads_of(self.W_v(x), self.h)
        columns = k @ q.mT / sqrt(q.size(-1))
        if mask is not None:
            columns = columns.masked_fill(~mask, float("-inf"))  # first wrong
        shares = columns.softmax(dim=-2)
        got = self.drop(shares).mT @ v
        return self.W_o(got.permute(0, 2, 1, 3).flatten(2))
