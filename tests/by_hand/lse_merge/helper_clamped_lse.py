# mistakes: infinite-lse-made-finite
# diagnosis: line elsewhere
"""A helper makes every lse finite."""

import torch


def finite(lse):
    return torch.where(lse < -1e9, torch.full_like(lse, -1e9), lse)


def merge_attention(out_a, lse_a, out_b, lse_b):
    x, y = finite(lse_a), finite(lse_b)
    hi = torch.where(x > y, x, y)
    e_x = (x - hi).exp()  # first wrong
    e_y = (y - hi).exp()
    total = e_x + e_y
    out = e_x.div(total)[..., None] * out_a + e_y.div(total)[..., None] * out_b
    return out.to(dtype=out_a.dtype), hi + total.log()
