"""As GPT-J has it: every angle twice, side by side, and rotate_every_two; tables in the dtype of x."""

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
