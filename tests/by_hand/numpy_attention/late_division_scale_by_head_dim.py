# mistakes: scale-by-head-dim
# diagnosis: no line
"""Division by the sum after the product with the values."""

import numpy as np


def exponentials(x, axis):
    highest = x.max(axis=axis, keepdims=True)
    powers = np.exp(x - np.where(np.isinf(highest), 0, highest))
    return powers, powers.sum(axis=axis, keepdims=True)


def softmax(x, axis=-1):
    powers, total = exponentials(x, axis)
    return powers / np.where(total, total, 1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scale = q.shape[-1]
    scores = np.einsum("...id,...jd->...ij", q, k) / scale  # first wrong
    if mask is not None:
        scores = np.where(mask, scores, -1e30)
    powers, total = exponentials(scores, -1)
    return powers @ v / total, powers / total


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    length, width = x.shape
    if width % num_heads:
        raise ValueError("no")
    q, k, v = np.stack([x @ w_q, x @ w_k, x @ w_v]).reshape(3, length, num_heads, -1).swapaxes(1, 2)
    mask = ~np.triu(np.ones((length, length), bool), 1) if causal else None
    out, _ = scaled_dot_product_attention(q, k, v, mask)
    return out.swapaxes(0, 1).reshape(x.shape) @ w_o
