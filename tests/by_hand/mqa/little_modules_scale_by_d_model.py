# mistakes: scale-by-d-model
"""A module for the queries, one for what all heads share, one for the attention; q is scaled as soon as it is there."""

import math

import torch
from torch import nn


class Queries(nn.Module):
    def __init__(self, d_model, num_heads, bias):
        super().__init__()
        self.num_heads = num_heads
        self.proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x):
        q = self.proj(x)
        q = q / math.sqrt(q.size(-1))  # first wrong
        return torch.stack(q.chunk(self.num_heads, dim=-1), dim=1)


class Shared(nn.Module):
    def __init__(self, d_model, head_dim, bias):
        super().__init__()
        self.proj = nn.Linear(d_model, head_dim, bias=bias)

    def forward(self, x):
        return self.proj(x)[:, None]


class Attend(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        scores = torch.matmul(q, k.transpose(2, 3))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return torch.matmul(self.dropout(nn.functional.softmax(scores, -1)), v)


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        head_dim, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{rest} features left over")
        self.query = Queries(d_model, num_heads, bias)
        self.key = Shared(d_model, head_dim, bias)
        self.value = Shared(d_model, head_dim, bias)
        self.attend = Attend(dropout)
        self.output = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, mask=None):
        heads = self.attend(self.query(x), self.key(x), self.value(x), mask)
        return self.output(torch.cat(heads.unbind(1), dim=-1))
