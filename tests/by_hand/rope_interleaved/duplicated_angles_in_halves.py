# mistakes: angles-repeated-in-halves
"""The angles are repeated as a whole (half beside half) instead of each for its two neighbours."""

import torch


def rotate_every_two(x):
    x1 = x[:, :, :, ::2]
    x2 = x[:, :, :, 1::2]
    x = torch.stack((-x2, x1), dim=-1)
    return x.flatten(-2)


def duplicate(m):
    """[..., D/2] -> [..., D]"""
    return torch.cat((m, m), dim=-1)  # first wrong


def sinusoids(pos, dim, base):
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, device=pos.device) / dim))
    inp = torch.einsum("...l,d->...ld", pos.float(), inv_freq)
    return torch.sin(inp), torch.cos(inp)


def apply_rope_interleaved(x, position_ids, base=10000.0):
    pos = position_ids
    if pos.dim() == 1:
        pos = pos[None, :]
    sin, cos = sinusoids(pos, x.shape[-1], base)
    sin = duplicate(sin)[:, None]
    cos = duplicate(cos)[:, None]
    out = x * cos + rotate_every_two(x) * sin
    return out.to(x.dtype)
