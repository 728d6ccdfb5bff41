# mistakes: mask-inverted-with-a-large-number
# diagnosis: no line
"""Short names, einsum for every product."""

import numpy as np


def softmax(x, axis=-1):
    top = np.amax(x, axis, keepdims=True)
    top[~np.isfinite(top)] = 0
    e = np.exp(x - top)
    z = np.add.reduce(e, axis, keepdims=True)
    z[z == 0] = 1
    return e / z


def scaled_dot_product_attention(q, k, v, mask=None):
    s = np.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        s[np.broadcast_to(mask, s.shape)] = -1e9  # first wrong
    p = softmax(s)
    return np.einsum("...qk,...kv->...qv", p, v), p


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    n, m = x.shape
    if m % num_heads:
        raise ValueError("heads do not fit")
    shape = m, num_heads, m // num_heads
    q, k, v = (np.einsum("lm,mhd->hld", x, w.reshape(shape)) for w in (w_q, w_k, w_v))
    past = np.tri(n, dtype=bool) if causal else None
    o, _ = scaled_dot_product_attention(q, k, v, past)
    return np.einsum("hqd,hdm->qm", o, w_o.reshape(num_heads, -1, m))
