"""Rotary position embedding (RoPE), half-split: features i and i + D/2 of a head are a pair.

    (a, b) -> (a cos - b sin, b cos + a sin)    angle t * base**(-2i/D), position t, pair i < D/2

The product of a rotated query and a rotated key depends only on the distance of their positions.
Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding".
"""

import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    """D head_dim, T max_seq_len -> cos, sin, each [T, D]."""
    exponents = torch.arange(0, head_dim, 2) / head_dim  # [D/2], 2i / D
    frequencies = base**-exponents  # [D/2], from 1 down to almost 1 / base
    positions = torch.arange(max_seq_len)  # [T]
    angles = positions[:, None] * frequencies  # [T, D/2]

    # cat puts an angle into columns i and i + D/2, repeat_interleave into 2i and 2i + 1
    angles = torch.cat((angles, angles), dim=-1)  # [T, D]
    return angles.cos(), angles.sin()


def apply_rope(q, k, cos, sin, position_ids=None):
    """q [B, H, L, D], k [B, Hkv, L, D], cos and sin [T, D], position_ids [B, L] -> q, k."""
    length = q.shape[2]
    if position_ids is None:
        position_ids = torch.arange(length, device=q.device)[None]  # [1, L]

    # add an axis for the heads
    cos = cos[position_ids].unsqueeze(1)  # [B, 1, L, D]
    sin = sin[position_ids].unsqueeze(1)  # [B, 1, L, D]

    q_rotated = q * cos + rotate_half(q) * sin  # [B, H, L, D]
    k_rotated = k * cos + rotate_half(k) * sin  # [B, Hkv, L, D]

    # bfloat16 times a float32 table is float32
    return q_rotated.to(q.dtype), k_rotated.to(k.dtype)


def rotate_half(x):
    """Rotate every pair by a quarter turn: (a, b) -> (-b, a)."""
    a, b = x.chunk(2, dim=-1)  # [..., D/2] each
    return torch.cat((-b, a), dim=-1)  # [..., D]
