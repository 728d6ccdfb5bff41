"""Scaled dot-product attention: every query gets a weighted mean of the values.

    out = softmax(q k^T / sqrt(D) + mask) v

The weights of one query sum to 1 over the keys that it may attend to.
Vaswani et al. 2017, "Attention Is All You Need".
"""

import math

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    """Return attention [..., Lq, Dv] of q [..., Lq, D] to k [..., Lk, D] and v [..., Lk, Dv].

    mask bool broadcastable to [..., Lq, Lk], True = may attend.
    """
    head_dim = q.shape[-1]
    if k.shape[-1] != head_dim:
        raise ValueError(f"q has head dim {head_dim}, k has head dim {k.shape[-1]}")
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(f"there are {k.shape[-2]} keys, but {v.shape[-2]} values")

    # count dims from the end, so that any leading dims work
    scores = q @ k.transpose(-2, -1)  # [..., Lq, Lk]
    # a sum of D products has variance D; without the scale, the softmax would be almost one-hot
    scores = scores / math.sqrt(head_dim)
    if mask is not None:
        # before the softmax: if weights were set to 0 after it, the row would not sum to 1
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # [..., Lq, Lk]
    return weights @ v  # [..., Lq, Dv]
