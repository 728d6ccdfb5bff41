# mistakes: base-ignored, rotated-backwards
"""Parts stacked to complex numbers; the angles come from a small class with a constant."""

import torch


class Angles:
    BASE = 10000.0

    def __init__(self, dim):
        self.dim = dim

    def __call__(self, position_ids):
        k = torch.arange(self.dim // 2, dtype=torch.float64, device=position_ids.device)
        inv_freq = self.BASE ** (-2 * k / self.dim)  # first wrong
        return position_ids.double()[..., None] * inv_freq


def apply_rope_interleaved(x, position_ids, base=10000.0):
    angles = Angles(x.shape[-1])(position_ids)
    unit = torch.complex(angles.cos(), angles.sin())
    if position_ids.dim() == 2:
        unit = unit[:, None]
    z = torch.complex(x[..., 0::2].double(), x[..., 1::2].double()) * unit.conj()  # also wrong
    return torch.stack((z.real, z.imag), dim=-1).flatten(-2).to(x.dtype)
