# mistakes: positions-in-bfloat16
"""Frequencies by exp and log, everything cast to x where it is made, even and odd from unbind."""

import math

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    half = x.shape[-1] // 2
    omega = torch.exp(torch.arange(half, device=x.device) * (-math.log(base) / half))
    t = position_ids.to(x)  # first wrong
    if t.dim() == 1:
        t = t[None]
    phi = t[:, None, :, None] * omega
    even, odd = x.unflatten(-1, (half, 2)).unbind(dim=-1)
    new = (even * phi.cos() - odd * phi.sin(), odd * phi.cos() + even * phi.sin())
    return torch.stack(new, -1).flatten(-2).to(x)
