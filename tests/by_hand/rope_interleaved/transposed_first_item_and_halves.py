# mistakes: first-item-for-all, halves-then-neighbours
"""Tokens before heads while turning, [B, L, H, D], so that no axis is inserted; a squeezed helper for the angles."""

import torch


def angles_for(pos, d, base):
    rows = pos if pos.dim() == 1 else pos[0]  # first wrong
    return (rows[:, None] / base ** (torch.arange(0, d, 2, device=pos.device) / d)).unsqueeze(-2)


def apply_rope_interleaved(x, position_ids, base=10000.0):
    t = x.transpose(1, 2)
    half = t.shape[-1] // 2
    ang = angles_for(position_ids, t.shape[-1], base)
    real, imag = t[..., :half], t[..., half:]  # also wrong
    cs, sn = ang.cos(), ang.sin()
    both = torch.stack([real * cs - imag * sn, imag * cs + real * sn], dim=-1)
    return both.flatten(3).transpose(1, 2).to(x.dtype)
