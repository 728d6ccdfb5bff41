"""Write the rotation as an autograd.Function that rotates back in backward, and cache the tables.

The backward pass is one rotation instead of the gradients of every chunk and product. Casting the
tables to bfloat16 costs accuracy, and the cache keeps every table alive.
"""

from functools import lru_cache

import torch


@lru_cache(maxsize=None)
def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    with torch.no_grad():
        exponent = torch.linspace(0, -2 * (head_dim // 2 - 1) / head_dim, head_dim // 2, dtype=torch.float64)
        angle = torch.arange(max_seq_len, dtype=torch.float64).outer(base**exponent).tile(2).float()
    return [torch.cos(angle), torch.sin(angle)]


class Rotate(torch.autograd.Function):
    @staticmethod
    def turn(x, cos, sin):
        partner = x.roll(x.shape[-1] // 2, dims=-1)
        sign = torch.ones(x.shape[-1], dtype=x.dtype, device=x.device)
        sign[: x.shape[-1] // 2].neg_()
        return torch.addcmul(x * cos, partner * sign, sin)

    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return Rotate.turn(x, cos, sin)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        return Rotate.turn(grad, cos, -sin), None, None


def apply_rope(q, k, cos, sin, position_ids=None):
    rows = slice(q.shape[-2]) if position_ids is None else position_ids
    c, s = cos[rows].type_as(q), sin[rows].type_as(q)
    if c.dim() == 3:
        c, s = c.unsqueeze(-3), s.unsqueeze(-3)
    return tuple(Rotate.apply(x, c, s) for x in (q, k))
