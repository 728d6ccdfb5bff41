"""Name every axis in einsum, from the projections to the output: no array is transposed or split.

The weights are seen as [M, H, D], so the projections give the heads at once. einsum is slower than
matmul for large arrays unless it finds a matrix product, which `optimize=True` makes it look for.
"""

import math

import numpy as np


def softmax(x, axis=-1):
    with np.errstate(invalid="ignore", divide="ignore"):
        e = np.exp(x - np.amax(x, axis=axis, keepdims=True))
        p = e / np.add.reduce(e, axis=axis, keepdims=True)
    # in a row of -inf, everything is NaN so far
    return np.nan_to_num(p, nan=0.0)


def scaled_dot_product_attention(q, k, v, mask=None):
    s = np.einsum("...id,...jd->...ij", q, k, optimize=True) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, np.finfo(s.dtype).min)
    p = softmax(s)
    return np.einsum("...ij,...jd->...id", p, v, optimize=True), p


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    m = x.shape[1]
    if m % num_heads:
        raise ValueError("num_heads must divide the width")
    by_head = (m, num_heads, m // num_heads)
    q, k, v = (np.einsum("lm,mhd->hld", x, w.reshape(by_head)) for w in (w_q, w_k, w_v))
    i = np.arange(len(x))
    out, _ = scaled_dot_product_attention(q, k, v, i[:, None] >= i if causal else None)
    return np.einsum("hld,hdm->lm", out, w_o.reshape(num_heads, -1, m))
