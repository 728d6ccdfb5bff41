# mistakes: lse-is-the-maximum
"""A softmax over a stack of the two lse."""

import torch


def merge_attention(out_a, lse_a, out_b, lse_b):
    pair = torch.stack((lse_a, lse_b), dim=-1)
    hidden = (pair == -torch.inf).all(dim=-1, keepdim=True)
    p = torch.softmax(pair.masked_fill(hidden, 0.0), dim=-1).masked_fill(hidden, 0.0)
    mixed = p[..., :1] * out_a + p[..., 1:] * out_b
    lse = pair.max(dim=-1).values  # first wrong
    return mixed.type_as(out_a), lse
