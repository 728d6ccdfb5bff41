"""Rotate q and k in one TorchScript function, joined along the head axis.

A single rotation instead of two needs fewer calls, but joining q and k copies both. TorchScript is
deprecated in favour of torch.compile.
"""

import torch
from torch import Tensor


@torch.jit.script
def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    halves = x.unflatten(-1, (2, x.size(-1) // 2)).to(torch.promote_types(x.dtype, cos.dtype))
    swapped = halves.flip([-2])
    signs = torch.tensor([-1.0, 1.0], device=x.device).unsqueeze(-1).to(halves.dtype)
    c = cos.unflatten(-1, (2, x.size(-1) // 2))
    s = sin.unflatten(-1, (2, x.size(-1) // 2))
    return (halves * c + swapped * signs * s).flatten(-2).to(x.dtype)


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    inverse = torch.reciprocal(torch.pow(torch.tensor(base), torch.arange(0, head_dim, 2) / head_dim))
    angles = torch.kron(torch.ones(1, 2), torch.arange(max_seq_len).float()[:, None] @ inverse[None, :])
    return angles.cos(), angles.sin()


def apply_rope(q, k, cos, sin, position_ids=None):
    if position_ids is None:
        cos, sin = cos.narrow(0, 0, q.size(2)), sin.narrow(0, 0, q.size(2))
    else:
        cos, sin = cos[position_ids][:, None, :, :], sin[position_ids][:, None, :, :]
    out = turn(torch.cat((q, k), 1), cos, sin)
    q_out, k_out = out.split([q.size(1), k.size(1)], dim=1)
    return q_out, k_out
