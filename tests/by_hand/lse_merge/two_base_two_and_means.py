# mistakes: mean-of-the-outputs, lse-to-base-two
"""Short lines; the weights are computed for the lse only."""

import torch


def merge_attention(out_a, lse_a, out_b, lse_b):
    top = lse_a.maximum(lse_b)
    top = top.where(top > -torch.inf, torch.zeros_like(top))
    w_a = (lse_a - top).exp()
    w_b = (lse_b - top).exp()
    both = w_a + w_b
    lse = top + both.log2()  # also wrong
    out = torch.add(out_a, out_b).mul(0.5)  # first wrong
    return out, lse
