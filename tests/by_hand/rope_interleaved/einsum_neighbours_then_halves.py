# mistakes: neighbours-then-halves
"""Rotation matrices stacked in one go and one einsum for all pairs."""

import torch


def rotations(angle):
    """[...] angles -> [..., 2, 2] matrices."""
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack((c, -s, s, c), dim=-1).unflatten(-1, (2, 2))


def apply_rope_interleaved(x, position_ids, base=10000.0):
    b, h, n, d = x.shape
    dtype = torch.promote_types(x.dtype, torch.float32)
    inv_freq = torch.pow(base, torch.arange(0, -d, -2, device=x.device).to(dtype) / d)
    where = position_ids.expand(b, n)
    R = rotations(torch.einsum("bl,p->blp", where.to(dtype), inv_freq))
    pairs = x.to(dtype).reshape(b, h, n, d // 2, 2)
    turned = torch.einsum("blprc,bhlpc->bhlrp", R, pairs)  # first wrong
    return turned.reshape(b, h, n, d).to(x.dtype)
