"""Scaled dot-product attention: every query takes a weighted mean of the values.

    out = softmax(q k^T / sqrt(D) + mask) v

The weights of one query sum to 1 over the keys that it may attend to.
Vaswani et al. 2017, "Attention Is All You Need".
"""

import math

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    """q [..., Lq, D], k [..., Lk, D], v [..., Lk, Dv], mask bool broadcastable to [..., Lq, Lk], True = may attend -> [..., Lq, Dv]."""
    head_dim = q.shape[-1]
    if k.shape[-1] != head_dim:
        raise ValueError(f"q has head dim {head_dim}, k has head dim {k.shape[-1]}")
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(f"there are {k.shape[-2]} keys, but {v.shape[-2]} values")

    # dims counted from the end: then any leading dims will do
    scores = q @ k.transpose(-2, -1)  # [..., Lq, Lk]
    # a sum of D products has variance D; unscaled, the softmax would be all but one-hot
    scores = scores / math.sqrt(head_dim)
    if mask is not None:
        # before softmax: a weight set to 0 after it would leave a row that does not sum to 1
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # [..., Lq, Lk]
    return weights @ v  # [..., Lq, Dv]
