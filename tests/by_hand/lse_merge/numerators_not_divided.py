# mistakes: shares-not-divided
"""Numerators are summed as in an online softmax; the last division is missing."""

import torch


def merge_attention(out_a, lse_a, out_b, lse_b):
    m = torch.maximum(lse_a, lse_b)
    empty = m.isneginf()
    m = m.masked_fill(empty, 0)
    p, q = torch.exp(lse_a - m), torch.exp(lse_b - m)
    acc = p[..., None] * out_a
    acc = acc + q[..., None] * out_b  # first wrong
    s = p + q
    return acc.to(out_a.dtype), torch.log(s) + m
