"""Attention in NumPy: a stable softmax, attention over any leading dims, and several heads.

    out = softmax(q k^T / sqrt(D)) v

Every head attends with its own D features of the projected tokens; the heads are a leading dim, so
all heads take one call. Vaswani et al. 2017, "Attention Is All You Need".
"""

import numpy as np


def softmax(x, axis=-1):
    """Return the probabilities along `axis`; zeros for a row of -inf only."""
    # one maximum for each row: with a maximum of the whole array, other rows underflow
    largest = x.max(axis=axis, keepdims=True)
    # -inf - -inf is NaN, so a row of -inf only is shifted by 0
    shift = np.where(largest == -np.inf, 0.0, largest)
    exponentials = np.exp(x - shift)
    total = exponentials.sum(axis=axis, keepdims=True)
    # the total is at least 1, except in a row of -inf only: there 0 / 0 would be NaN
    divisor = np.where(total == 0, 1.0, total)
    return exponentials / divisor


def scaled_dot_product_attention(q, k, v, mask=None):
    """Return out [..., Lq, Dv] and weights [..., Lq, Lk] of q, k [..., L, D] and v [..., Lk, Dv].

    mask bool broadcastable to [..., Lq, Lk], True = may attend.
    """
    head_dim = q.shape[-1]
    # .T would reverse all axes
    keys = np.swapaxes(k, -1, -2)
    products = q @ keys  # [..., Lq, Lk]
    # a Python float keeps the dtype of the scores
    scores = products / head_dim**0.5
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores, axis=-1)  # [..., Lq, Lk]
    out = weights @ v  # [..., Lq, Dv]
    return out, weights


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    """Return self-attention [L, M] of one sequence x [L, M] with weights [M, M]."""
    length, width = x.shape
    if width % num_heads != 0:
        raise ValueError(f"M = {width} is not divisible by num_heads = {num_heads}")
    q = split_heads(x @ w_q, num_heads)  # [H, L, D]
    k = split_heads(x @ w_k, num_heads)
    v = split_heads(x @ w_v, num_heads)
    mask = None
    if causal:
        mask = np.tril(np.ones((length, length), dtype=bool))
    heads, _ = scaled_dot_product_attention(q, k, v, mask)
    # the heads go behind the tokens again before their features are joined
    joined = heads.transpose(1, 0, 2).reshape(length, width)
    return joined @ w_o


def split_heads(features, num_heads):
    """Return [H, L, D] of [L, H * D]: head 0 has the first D features of every token."""
    length, width = features.shape
    apart = features.reshape(length, num_heads, width // num_heads)
    return apart.transpose(1, 0, 2)
