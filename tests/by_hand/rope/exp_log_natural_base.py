# mistakes: natural-base
"""Frequencies through exp, broadcasting with None, one pass over the tuple (q, k)."""

import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    pair = torch.arange(head_dim // 2, dtype=torch.float32)
    omega = torch.exp(pair * (-2.0 / head_dim))  # first wrong
    theta = torch.arange(max_seq_len, dtype=torch.float32)[:, None] * omega[None, :]
    theta = theta.repeat(1, 2)
    return theta.cos(), theta.sin()


def apply_rope(q, k, cos, sin, position_ids=None):
    n, half = q.shape[-2], q.shape[-1] // 2
    if position_ids is None:
        c, s = cos[:n], sin[:n]
    else:
        c, s = cos[position_ids][:, None], sin[position_ids][:, None]
    turned = []
    for t in (q, k):
        swapped = torch.cat([-t[..., half:], t[..., :half]], -1)
        turned.append((t * c + swapped * s).type_as(t))
    return turned[0], turned[1]
