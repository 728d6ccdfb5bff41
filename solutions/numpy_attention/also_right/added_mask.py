"""Add a mask of 0 and -1e9 in the dtype of the scores, and split the heads with split and stack.

The sum makes a second array of the size of the mask, and masked scores are no -inf, so a query
without keys would get the mean of all values. stack copies the features once for each projection.
"""

import numpy as np


def softmax(x, axis=-1):
    m = np.max(x, axis=axis, keepdims=True)
    m[np.isneginf(m)] = 0
    e = np.exp(x - m)
    s = np.sum(e, axis=axis, keepdims=True)
    return np.divide(e, s, out=np.zeros_like(e), where=s > 0)


def scaled_dot_product_attention(q, k, v, mask=None):
    scale = 1.0 / float(np.sqrt(q.shape[-1]))
    scores = np.matmul(q * scale, np.moveaxis(k, -1, -2))
    if mask is not None:
        scores += np.where(mask, 0.0, -1e9).astype(scores.dtype)
    weights = softmax(scores)
    return np.matmul(weights, v), weights


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    length, width = x.shape
    if width % num_heads != 0:
        raise ValueError(f"cannot split {width} features into {num_heads} heads")
    q, k, v = np.split(x @ np.concatenate([w_q, w_k, w_v], axis=1), 3, axis=1)
    q, k, v = (np.stack(np.split(part, num_heads, axis=1)) for part in (q, k, v))
    mask = ~np.triu(np.ones((length, length), dtype=bool), k=1) if causal else None
    heads, _ = scaled_dot_product_attention(q, k, v, mask)
    return np.concatenate(list(heads), axis=1) @ w_o
