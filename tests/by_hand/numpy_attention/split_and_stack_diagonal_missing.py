# mistakes: causal-mask-without-the-diagonal
# diagnosis: no line
"""One fused product for q, k and v, then np.split."""

import math

import numpy as np


def softmax(x, axis=-1):
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        p = e / e.sum(axis=axis, keepdims=True)
    return np.where(np.isnan(p), 0, p)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.mT
    scores = scores / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -math.inf)
    probabilities = softmax(scores, -1)
    return probabilities @ v, probabilities


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    length, width = x.shape
    if width % num_heads:
        raise ValueError("cannot split the width")
    fused = x @ np.concatenate([w_q, w_k, w_v], axis=-1)
    fused = fused.reshape(length, 3, num_heads, width // num_heads)
    q, k, v = np.moveaxis(fused, 0, 2)
    visible = None
    if causal:
        position = np.arange(length)
        visible = position[None, :] < position[:, None]  # first wrong
    out = scaled_dot_product_attention(q, k, v, visible)[0]
    return np.concatenate(list(out), axis=-1) @ w_o
