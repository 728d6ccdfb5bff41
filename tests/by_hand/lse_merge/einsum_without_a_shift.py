# mistakes: nothing-subtracted
"""Plain denominators and einsum."""

import torch


def merge_attention(out_a, lse_a, out_b, lse_b):
    z_a = lse_a.exp()  # first wrong
    z_b = lse_b.exp()
    z = z_a + z_b
    inverse = torch.where(z > 0, 1 / z.masked_fill(z == 0, 1), torch.zeros_like(z))
    kind = torch.promote_types(out_a.dtype, z.dtype)
    left = torch.einsum("...l,...ld->...ld", (z_a * inverse).to(kind), out_a.to(kind))
    right = torch.einsum("...l,...ld->...ld", (z_b * inverse).to(kind), out_b.to(kind))
    return (left + right).to(out_a.dtype), z.log()
