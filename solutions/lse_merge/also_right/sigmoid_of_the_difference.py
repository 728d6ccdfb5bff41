"""Compute the share of b as a sigmoid of the difference of the lse, as ring attention often does.

A single function of one difference replaces two exponentials and a division. Where both lse are
-inf, the difference is NaN, so the case needs an explicit test.
"""

import torch
import torch.nn.functional as F


def merge_attention(out_a, lse_a, out_b, lse_b):
    nothing = (lse_a == float("-inf")) & (lse_b == float("-inf"))
    gap = torch.where(nothing, torch.zeros_like(lse_b), lse_b) - torch.where(
        nothing, torch.zeros_like(lse_a), lse_a
    )
    share = torch.sigmoid(gap)[..., None]
    out = (torch.sigmoid(-gap)[..., None] * out_a + share * out_b).type_as(out_a)
    out = out.masked_fill(nothing[..., None], 0.0)
    larger, smaller = torch.maximum(lse_a, lse_b), torch.minimum(lse_a, lse_b)
    distance = torch.where(nothing, torch.zeros_like(gap), smaller - larger)
    return out, larger + F.softplus(distance).masked_fill(nothing, 0.0)
