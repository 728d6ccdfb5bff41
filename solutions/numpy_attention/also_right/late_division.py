"""Write attention without the softmax function: divide by the sum after the product with the values.

The mask multiplies the exponentials, and the maximum is taken over the allowed scores only, so that
no masked score decides the shift. The division has Dv entries for each query instead of Lk, but the
weights that are returned need a division of their own. np.sqrt gives a float64 scalar, so float32
inputs give float64 results, with twice the memory.
"""

import numpy as np


def softmax(x, axis=-1):
    finite = np.where(x == -np.inf, np.finfo(x.dtype).min, x)
    powers = np.exp(finite - finite.max(axis, keepdims=True)) * (x > -np.inf)
    return powers / np.clip(powers.sum(axis, keepdims=True), np.finfo(x.dtype).tiny, None)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    seen = np.broadcast_to(True if mask is None else mask, scores.shape)
    top = scores.max(axis=-1, keepdims=True, where=seen, initial=-np.inf)
    powers = np.exp(np.minimum(scores - top, 0)) * seen
    sums = powers.sum(axis=-1, keepdims=True)
    return powers @ v / sums, powers / sums


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    length, width = x.shape
    if width % num_heads:
        raise ValueError(width, num_heads)

    def heads_of(w):
        return np.moveaxis((x @ w).reshape(length, num_heads, -1), 1, 0)

    steps = np.arange(length)
    mask = np.less_equal.outer(steps, steps).T if causal else None
    out = scaled_dot_product_attention(heads_of(w_q), heads_of(w_k), heads_of(w_v), mask)[0]
    return np.moveaxis(out, 0, 1).reshape(length, width) @ w_o
