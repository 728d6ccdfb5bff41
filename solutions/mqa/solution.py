"""Multi-query attention (MQA): H query heads share one key head and one value head.

    head_h = softmax(q_h k^T / sqrt(D) + mask) v        out = [head_1 ... head_H] W_o

The KV cache holds 2 D numbers for each token instead of 2 M, so decoding reads H times less.
Shazeer 2019, "Fast Transformer Decoding: One Write-Head is All You Need".
"""

import math

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    """B batch, L length, M d_model, H query heads, D = M / H head dim."""

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, self.head_dim, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch, length, d_model = x.shape

        # view, then transpose: in [B, L, H * D] the features of one token are next to each other
        q = self.q_proj(x).view(batch, length, self.num_heads, self.head_dim)
        q = q.transpose(1, 2)  # [B, H, L, D]
        k = self.k_proj(x)  # [B, L, D]
        v = self.v_proj(x)  # [B, L, D]

        # a head axis of length 1 after the batch; without it B would be aligned with H
        k = k.unsqueeze(1)  # [B, 1, L, D]
        v = v.unsqueeze(1)  # [B, 1, L, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
        scores = scores / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]
        weights = self.dropout(weights)

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, d_model)  # [B, L, M]
        return self.o_proj(merged)
