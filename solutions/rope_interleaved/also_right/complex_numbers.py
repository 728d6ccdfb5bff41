"""Treat each pair as a complex number and multiply it by a complex number of absolute value 1.

The code is short, but contiguous copies an input with a different memory layout, and float64 inputs
are rounded to float32. torch.compile generates no fused code for complex numbers.
"""

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    dim = x.shape[-1]
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, device=x.device).float() / dim))
    angles = position_ids.float().unsqueeze(-1) * inv_freq
    turn = torch.polar(torch.ones_like(angles), angles)
    if position_ids.ndim == 2:
        turn = turn.unsqueeze(1)
    points = torch.view_as_complex(x.float().contiguous().unflatten(-1, (-1, 2)))
    return torch.view_as_real(points * turn).flatten(-2).type_as(x)
