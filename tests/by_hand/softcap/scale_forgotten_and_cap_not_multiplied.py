# mistakes: no-scale, cap-not-multiplied
"""Tensor methods in one chain."""

import torch


def softcap_attention(q, k, v, cap, mask=None):
    raw = q.matmul(k.transpose(-1, -2))  # first wrong
    shares = raw.div(cap).tanh()  # also wrong
    if mask is not None:
        shares = shares.masked_fill(mask.logical_not(), -torch.inf)
    return shares.softmax(-1).matmul(v)
