# mistakes: softmax-over-queries, no-output-projection
"""Scores turned on their side, [B, H, Lk, Lq], as a column of keys for every query."""

import math

import torch
from torch import nn


def columns(keys, queries):
    return torch.matmul(keys, queries.transpose(-2, -1)) * (1.0 / math.sqrt(queries.size(-1)))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model=}, {num_heads=}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def split(self, t):
        return t.view(t.size(0), t.size(1), self.num_heads, -1).permute(0, 2, 1, 3)

    def forward(self, query, key, value, mask=None, return_weights=False):
        table = columns(self.split(self.k_proj(key)), self.split(self.q_proj(query)))
        if mask is not None:
            table = table.masked_fill(~mask.transpose(-2, -1), -math.inf)
        table = nn.functional.softmax(table, dim=3)  # first wrong
        weights = table.transpose(-2, -1).contiguous()
        seen = torch.matmul(self.dropout(weights), self.split(self.v_proj(value)))
        result = seen.permute(0, 2, 1, 3).flatten(2)  # also wrong
        return (result, weights) if return_weights else result
