"""Grouped-query attention (GQA): H query heads share Hkv key/value heads.

    out_h = softmax(q_h k_g^T / sqrt(D) + mask) v_g    with g = h // (H / Hkv)

Hkv = H is multi-head attention, Hkv = 1 is multi-query attention. The KV cache shrinks by H / Hkv.
Ainslie et al. 2023, "GQA: Training Generalized Multi-Query Transformer Models".
"""

import math

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """B batch, L length, M d_model, H query heads, Hkv key/value heads, D = M / H head dim."""

    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(
                f"num_heads {num_heads} is not divisible by num_kv_heads {num_kv_heads}"
            )
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch, length, d_model = x.shape

        # view, then transpose: in [B, L, H * D] the features of one token are next to each other
        q = self.q_proj(x).view(batch, length, self.num_heads, self.head_dim)
        k = self.k_proj(x).view(batch, length, self.num_kv_heads, self.head_dim)
        v = self.v_proj(x).view(batch, length, self.num_kv_heads, self.head_dim)
        q = q.transpose(1, 2)  # [B, H, L, D]
        k = k.transpose(1, 2)  # [B, Hkv, L, D]
        v = v.transpose(1, 2)  # [B, Hkv, L, D]

        # repeat_interleave gives K0 K0 K1 K1: neighbours share; repeat would give K0 K1 K0 K1
        group_size = self.num_heads // self.num_kv_heads
        k = k.repeat_interleave(group_size, dim=1)  # [B, H, L, D]
        v = v.repeat_interleave(group_size, dim=1)  # [B, H, L, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
        scores = scores / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]
        weights = self.dropout(weights)

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, d_model)  # [B, L, M]
        return self.o_proj(merged)
