"""Multi-head attention (MHA): H attentions side by side, each in its own D = M / H features.

    head_h = softmax(q_h k_h^T / sqrt(D) + mask) v_h        out = [head_1 ... head_H] W_o

The queries come from one sequence, the keys and values from another, or all from the same one.
Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2.
"""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """B batch, Lq query length, Lk key length, M d_model, H heads, D = M / H head dim."""

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None, return_weights=False):
        batch, q_len, d_model = query.shape
        k_len = key.shape[1]

        # view, then transpose: in [B, L, H * D] the features of one token are next to each other
        q = self.q_proj(query).view(batch, q_len, self.num_heads, self.head_dim)
        k = self.k_proj(key).view(batch, k_len, self.num_heads, self.head_dim)
        v = self.v_proj(value).view(batch, k_len, self.num_heads, self.head_dim)
        q = q.transpose(1, 2)  # [B, H, Lq, D]
        k = k.transpose(1, 2)  # [B, H, Lk, D]
        v = v.transpose(1, 2)  # [B, H, Lk, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, Lq, Lk]
        scores = scores / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, Lq, Lk]
        # a new name: the rows of `dropped` do not sum to 1, and `weights` is returned
        dropped = self.dropout(weights)

        heads = dropped @ v  # [B, H, Lq, D]
        merged = heads.transpose(1, 2).reshape(batch, q_len, d_model)  # [B, Lq, M]
        out = self.o_proj(merged)
        if return_weights:
            return out, weights
        return out
