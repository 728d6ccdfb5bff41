"""Repeat every angle for both features of a pair, and rotate with a swapped copy of x.

This computes twice as many cosines and sines, and rotate_every_two makes one more tensor of the
size of x. The tables have the dtype of x, which costs accuracy in bfloat16.
"""

import math

import torch


def rotate_every_two(x: torch.Tensor) -> torch.Tensor:
    first, second = x[..., ::2], x[..., 1::2]
    return torch.stack((-second, first), dim=-1).flatten(-2)


def apply_rope_interleaved(x: torch.Tensor, position_ids: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    d = x.size(-1)
    freq = torch.exp(torch.arange(0, d, 2, dtype=torch.float32, device=x.device) * -(math.log(base) / d))
    angle = torch.einsum("...l,f->...lf", position_ids.to(torch.float32), freq)
    angle = torch.repeat_interleave(angle, 2, dim=-1)
    if angle.dim() == 3:
        angle = angle[:, None, :, :]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    return x * cos + rotate_every_two(x) * sin
