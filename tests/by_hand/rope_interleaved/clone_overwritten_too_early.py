# mistakes: first-overwritten-too-early
"""A copy of x is turned in place, even columns first, and the axis for the heads comes from a helper."""

import torch


def _tables(pos, dim, base):
    f = 1.0 / (base ** (torch.arange(0, dim, 2, device=pos.device).float() / dim))
    t = pos.float().unsqueeze(-1) * f
    if pos.ndim > 1:
        t = t.unsqueeze(-3)
    return t.cos(), t.sin()


def apply_rope_interleaved(x, position_ids, base=10000.0):
    cos, sin = _tables(position_ids, x.size(-1), base)
    y = x.to(torch.promote_types(x.dtype, cos.dtype), copy=True)
    y[..., ::2] = y[..., ::2] * cos - y[..., 1::2] * sin
    y[..., 1::2] = y[..., 1::2] * cos + y[..., ::2] * sin  # first wrong
    return y.type_as(x)
