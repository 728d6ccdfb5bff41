"""Rotary position embedding (RoPE), interleaved: features 2i and 2i + 1 of a head are a pair.

    (a, b) -> (a cos - b sin, b cos + a sin)    angle p * base**(-2i/D), position p, pair i < D/2

With the features in another order, this is the rotation of GPT-NeoX.
Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding".
"""

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    """x [B, H, L, D], position_ids [L] or [B, L] -> [B, H, L, D]."""
    head_dim = x.shape[-1]

    # float32 for any dtype of x: bfloat16 cannot represent odd positions above 256
    exponents = torch.arange(0, head_dim, 2, device=x.device) / head_dim  # [D/2], 2i / D
    frequencies = base**-exponents  # [D/2], from 1 down to almost 1 / base
    angles = position_ids[..., None] * frequencies  # [L, D/2] or [B, L, D/2]
    if position_ids.dim() == 2:
        # add an axis for the heads: broadcasting aligns from the right
        angles = angles[:, None]  # [B, 1, L, D/2]
    cos = angles.cos()
    sin = angles.sin()

    a = x[..., 0::2]  # [B, H, L, D/2]
    b = x[..., 1::2]  # [B, H, L, D/2]
    a_rotated = a * cos - b * sin
    b_rotated = b * cos + a * sin

    # stack and flatten give a0 b0 a1 b1; cat would give a0 a1 b0 b1
    pairs = torch.stack((a_rotated, b_rotated), dim=-1)  # [B, H, L, D/2, 2]
    rotated = pairs.flatten(-2)  # [B, H, L, D]
    return rotated.to(x.dtype)
