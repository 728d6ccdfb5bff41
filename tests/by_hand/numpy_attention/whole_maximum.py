# mistakes: maximum-of-the-whole-array
# diagnosis: no line
"""The shortest form."""

import numpy as np


def softmax(x, axis=-1):
    c = np.max(x)  # first wrong
    e = np.exp(x - (c if c > -np.inf else 0))
    s = e.sum(axis, keepdims=True)
    return e / (s + (s == 0))


def scaled_dot_product_attention(q, k, v, mask=None):
    a = q @ np.swapaxes(k, -1, -2) * float(q.shape[-1]) ** -0.5
    if mask is not None:
        a = np.where(mask, a, -np.inf)
    w = softmax(a)
    return w @ v, w


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    n, m = x.shape
    if m % num_heads:
        raise ValueError
    q, k, v = (np.stack(np.split(x @ w, num_heads, 1)) for w in (w_q, w_k, w_v))
    o, _ = scaled_dot_product_attention(q, k, v, np.tri(n, dtype=bool) if causal else None)
    return np.hstack(list(o)) @ w_o
