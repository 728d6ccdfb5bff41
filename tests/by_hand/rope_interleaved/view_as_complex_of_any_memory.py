# mistakes: complex-view-of-any-memory
"""Complex numbers in four lines."""

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    theta = position_ids[..., None] * base ** -(torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    turn = torch.polar(torch.ones_like(theta), theta) if theta.dim() == 2 else torch.polar(torch.ones_like(theta), theta)[:, None]
    z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))  # first wrong
    return torch.view_as_real(z * turn).flatten(-2).to(x.dtype)
