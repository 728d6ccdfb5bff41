# mistakes: scale-by-d-model
"""A module for projecting into heads, one for the attention itself, one for the way back."""

import torch
from torch import nn


class IntoHeads(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.linear = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        y = self.linear(x)
        return torch.stack(y.chunk(self.heads, dim=-1), dim=1)


class Core(nn.Module):
    def __init__(self, scale, dropout):
        super().__init__()
        self.scale = scale
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        scores = torch.matmul(q, k.transpose(2, 3)) * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, -1)
        return torch.matmul(self.dropout(weights), v), weights


class OutOfHeads(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=bias)

    def forward(self, heads):
        return self.linear(torch.cat(heads.unbind(1), dim=-1))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"cannot cut {d_model} into {num_heads}")
        self.query = IntoHeads(d_model, num_heads, bias)
        self.key = IntoHeads(d_model, num_heads, bias)
        self.value = IntoHeads(d_model, num_heads, bias)
        self.core = Core(d_model**-0.5, dropout)  # first wrong
        self.out = OutOfHeads(d_model, bias)

    def forward(self, query, key, value, mask=None, return_weights=False):
        mixed, weights = self.core(self.query(query), self.key(key), self.value(value), mask)
        out = self.out(mixed)
        return (out, weights) if return_weights else out
