"""Multi-head attention with rotary positions (RoPE), half-split as in GPT-NeoX.

    out_h = softmax((R_m q_h) (R_n k_h)^T / sqrt(D) + mask) v_h    query at m, key at n

R_t rotates features i and i + D/2 by the angle t * base**(-2i/D), so that the score of two tokens
depends only on n - m.
Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding".
"""

import math

import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    """B batch, L length, M d_model, H heads, D = M / H head dim, T max_seq_len."""

    def __init__(
        self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True
    ):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

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

        q, k, v = self.qkv_proj(x).chunk(3, dim=-1)  # [B, L, M] each
        q = q.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)  # [B, H, L, D]
        k = k.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)  # [B, H, L, D]
        v = v.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)  # [B, H, L, D]

        # all heads of a token have the same angles; values are not rotated
        cos = self.cos[position_ids].unsqueeze(1)  # [B, 1, L, D]
        sin = self.sin[position_ids].unsqueeze(1)  # [B, 1, L, D]
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin

        scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
        scores = scores / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]
        weights = self.dropout(weights)

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, d_model)  # [B, L, M]
        return self.o_proj(merged)


def rotate_half(x):
    """Rotate every pair by a quarter turn: (a, b) -> (-b, a)."""
    a, b = x.chunk(2, dim=-1)  # [B, H, L, D/2] each
    return torch.cat((-b, a), dim=-1)  # [B, H, L, D]
