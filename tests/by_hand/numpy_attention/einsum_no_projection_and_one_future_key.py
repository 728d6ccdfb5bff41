# mistakes: no-output-projection, causal-mask-one-too-many
# diagnosis: no line
"""Multi-head attention in a few einsums, apart from the second function."""

import math

import numpy as np


def softmax(x, axis=-1):
    x = np.moveaxis(x, axis, -1)
    top = x.max(-1)[..., None]
    e = np.exp(x - np.where(np.isneginf(top), 0, top))
    s = e.sum(-1)[..., None]
    return np.moveaxis(e / np.where(s == 0, 1, s), -1, axis)


def scaled_dot_product_attention(q, k, v, mask=None):
    s = np.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    w = softmax(s if mask is None else np.where(mask, s, -np.inf))
    return np.einsum("...qk,...kv->...qv", w, v), w


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    n, m = x.shape
    d, rest = divmod(m, num_heads)
    if rest:
        raise ValueError("rest")
    q, k, v = (np.einsum("lm,mn->ln", x, w).reshape(n, num_heads, d) for w in (w_q, w_k, w_v))
    s = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(d)
    if causal:
        i = np.arange(n)
        s[:, i[None, :] > i[:, None] + 1] = -np.inf  # first wrong
    o = np.einsum("hqk,khd->qhd", softmax(s), v)
    return o.reshape(n, m)  # also wrong
