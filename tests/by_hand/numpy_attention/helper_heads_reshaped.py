# mistakes: heads-split-by-reshape-alone
# diagnosis: no line
"""Separate helpers to split and to merge the heads."""

import math

import numpy as np


def softmax(x, axis=-1):
    highest = np.max(x, axis=axis, keepdims=True)
    shifted = x - np.where(np.isneginf(highest), 0, highest)
    powers = np.exp(shifted)
    sums = np.sum(powers, axis=axis, keepdims=True)
    return np.divide(powers, sums, out=np.zeros_like(powers), where=sums > 0)


def scaled_dot_product_attention(q, k, v, mask=None):
    logits = np.matmul(q, np.moveaxis(k, -1, -2)) / math.sqrt(k.shape[-1])
    if mask is not None:
        logits = np.where(mask, logits, np.finfo(logits.dtype).min)
    attention = softmax(logits)
    return np.matmul(attention, v), attention


def to_heads(t, heads):
    return t.reshape(heads, t.shape[0], -1)  # first wrong


def from_heads(t):
    heads, length, size = t.shape
    return np.swapaxes(t, 0, 1).reshape(length, heads * size)


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    length, width = x.shape
    if width % num_heads != 0:
        raise ValueError("num_heads must divide the width")
    q = to_heads(np.matmul(x, w_q), num_heads)
    k = to_heads(np.matmul(x, w_k), num_heads)
    v = to_heads(np.matmul(x, w_v), num_heads)
    mask = np.tri(length, dtype=bool) if causal else None
    result, _ = scaled_dot_product_attention(q, k, v, mask)
    return np.matmul(from_heads(result), w_o)
