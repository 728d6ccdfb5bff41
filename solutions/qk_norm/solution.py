"""Grouped-query attention with QK-norm: every query and key is normalised before the scores.

    out_h = softmax(q'_h k'_g^T / sqrt(D) + mask) v_g    with g = h // (H / Hkv),
    q' = q / sqrt(mean(q^2) + eps) * w_q,  k' = k / sqrt(mean(k^2) + eps) * w_k

The means run over the D features of one head, so no score can exceed sqrt(D) times the weights.
Henry et al. 2020, "Query-Key Normalization for Transformers"; in this form in Qwen3.
"""

import math

import torch
from torch import nn


class RMSNorm(nn.Module):
    """Normalise the last axis: [..., D] -> [..., D]."""

    def __init__(self, dim, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, t):
        wide = t.to(torch.promote_types(t.dtype, torch.float32))
        mean_square = wide.square().mean(dim=-1, keepdim=True)
        normalised = wide * torch.rsqrt(mean_square + self.eps)
        scaled = normalised * self.weight
        return scaled.to(t.dtype)


class QKNormAttention(nn.Module):
    """B batch, L length, M d_model, H query heads, Hkv key/value heads, D head dim (M / H unless
    head_dim is given).
    """

    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if head_dim is None:
            if d_model % num_heads != 0:
                raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
            head_dim = d_model // num_heads
        if num_heads % num_kv_heads != 0:
            raise ValueError(
                f"num_heads {num_heads} is not divisible by num_kv_heads {num_kv_heads}"
            )
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = head_dim
        # H * D may be smaller or larger than M
        self.q_proj = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        self.q_norm = RMSNorm(head_dim, eps)
        self.k_norm = RMSNorm(head_dim, eps)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape

        q = self.q_proj(x).view(batch, length, self.num_heads, self.head_dim)
        k = self.k_proj(x).view(batch, length, self.num_kv_heads, self.head_dim)
        v = self.v_proj(x).view(batch, length, self.num_kv_heads, self.head_dim)
        # after the split: each head has its own mean, and all heads share the weight [D]
        q = self.q_norm(q)
        k = self.k_norm(k)
        q = q.transpose(1, 2)  # [B, H, L, D]
        k = k.transpose(1, 2)  # [B, Hkv, L, D]
        v = v.transpose(1, 2)  # [B, Hkv, L, D]

        # repeat_interleave gives K0 K0 K1 K1: neighbours share
        group_size = self.num_heads // self.num_kv_heads
        k = k.repeat_interleave(group_size, dim=1)  # [B, H, L, D]
        v = v.repeat_interleave(group_size, dim=1)  # [B, H, L, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
        scores = scores / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, -1)  # [B, L, H * D]
        return self.o_proj(merged)
