"""Compute the angles in TorchScript, and rotate with flipped pairs and a sign in the sines.

The flip makes one more tensor of the size of x, and the sines are computed twice. TorchScript is
deprecated in favour of torch.compile.
"""

import torch
from torch import Tensor


@torch.jit.script
def angles_of(position_ids: Tensor, dim: int, base: float) -> Tensor:
    exponents = torch.arange(0, dim, 2, device=position_ids.device, dtype=torch.float32) / float(dim)
    angles = position_ids.to(torch.float32).unsqueeze(-1) * torch.pow(torch.full_like(exponents, base), -exponents)
    if position_ids.dim() == 2:
        angles = angles.unsqueeze(1)
    return angles


def apply_rope_interleaved(x, position_ids, base=10000.0):
    angles = angles_of(position_ids, x.shape[-1], float(base))
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    turned = pairs * angles.cos()[..., None] + pairs.flip(-1) * torch.stack((-angles.sin(), angles.sin()), dim=-1)
    return turned.reshape(x.shape).to(x.dtype)
