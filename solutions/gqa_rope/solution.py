"""Llama's attention: grouped-query attention (GQA) with rotary positions (RoPE), no biases.

    out_h = softmax((R_m q_h) (R_n k_g)^T / sqrt(D) + mask) v_g
    with g = h // (H / Hkv), query at position m, key at position n

R_t rotates features i and i + D/2 by the angle t * base**(-2i/D). Only the mask limits the keys
that a query sees.
Touvron et al. 2023, "Llama 2: Open Foundation and Fine-Tuned Chat Models"; Su et al. 2021,
"RoFormer".
"""

import math

import torch
from torch import nn


class LlamaAttention(nn.Module):
    """B batch, L length, M d_model, H query heads, Hkv key/value heads, D = M / H head dim,
    T max_seq_len.
    """

    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
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
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

        exponents = torch.arange(0, self.head_dim, 2) / self.head_dim  # [D/2], 2i / D
        frequencies = rope_base**-exponents  # [D/2]
        angles = torch.arange(max_seq_len)[:, None] * frequencies  # [T, D/2]
        angles = torch.cat((angles, angles), dim=-1)  # [T, D], one angle for features i and i + D/2
        # .to(bfloat16) also rounds buffers: fine for a cosine, but not for an angle of 1001.5
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, mask=None, position_ids=None):
        """x [B, L, M], mask broadcastable to [B, H, L, L], position_ids [B, L] -> [B, L, M]."""
        batch, length, d_model = x.shape
        if position_ids is None:
            position_ids = torch.arange(length, device=x.device)[None]  # [1, L]

        # q [B, H, L, D], k and v [B, Hkv, L, D]
        q = self.q_proj(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.num_kv_heads, self.head_dim).transpose(1, 2)

        # rotate the Hkv key heads before they are repeated: this is cheaper, and a cache keeps them
        cos = self.cos[position_ids].unsqueeze(1)  # [B, 1, L, D]
        sin = self.sin[position_ids].unsqueeze(1)  # [B, 1, L, D]
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin

        # repeat_interleave gives K0 K0 K1 K1: neighbours share; repeat would give K0 K1 K0 K1
        group_size = self.num_heads // self.num_kv_heads
        k = k.repeat_interleave(group_size, dim=1)  # [B, H, L, D]
        v = v.repeat_interleave(group_size, dim=1)  # [B, H, L, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
        scores = scores / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, d_model)  # [B, L, M]
        return self.o_proj(merged)


def rotate_half(x):
    """Rotate every pair by a quarter turn: (a, b) -> (-b, a)."""
    a, b = x.chunk(2, dim=-1)  # [..., D/2] each
    return torch.cat((-b, a), dim=-1)  # [..., D]
