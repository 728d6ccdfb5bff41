# mistakes: lse-without-the-maximum, shares-exchanged
"""Nested functions, tensor methods."""

import torch


def merge_attention(out_a, lse_a, out_b, lse_b):
    def base():
        highest = torch.max(lse_a, lse_b)
        return highest.masked_fill(highest.isinf(), 0.0)

    def mass(lse):
        return lse.sub(base()).exp()

    total = mass(lse_a).add(mass(lse_b))
    divisor = total.masked_fill(total.eq(0), 1.0)
    share_of_a = mass(lse_b).div(divisor).unsqueeze(-1)  # first wrong
    share_of_b = mass(lse_a).div(divisor).unsqueeze(-1)
    out = share_of_a.mul(out_a).add(share_of_b.mul(out_b))
    return out.to(out_a.dtype), total.log()  # also wrong
