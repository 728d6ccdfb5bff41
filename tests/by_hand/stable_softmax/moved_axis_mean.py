# mistakes: sum-over-the-last-axis
"""max with dim for the peak; the sum forgets the axis."""

import torch


def softmax(x, dim=-1):
    top, _ = x.max(dim=dim, keepdim=True)
    top = torch.nan_to_num(top, neginf=0.0, posinf=None)
    e = (x - top).exp()
    total = torch.einsum("...i->...", e).unsqueeze(-1)  # first wrong
    return e.div(total.masked_fill(total.eq(0), 1))
