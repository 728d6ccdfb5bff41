# mistakes: queries-scaled-in-place
# diagnosis: no line
"""Operations with `out=` save arrays."""

import math

import numpy as np


def softmax(x, axis=-1):
    work = np.max(x, axis=axis, keepdims=True)
    np.copyto(work, 0, where=np.isneginf(work))
    result = np.subtract(x, work)
    np.exp(result, out=result)
    np.sum(result, axis=axis, keepdims=True, out=work)
    np.copyto(work, 1, where=work == 0)
    np.divide(result, work, out=result)
    return result


def scaled_dot_product_attention(q, k, v, mask=None):
    np.divide(q, math.sqrt(q.shape[-1]), out=q)  # first wrong
    weights = np.matmul(q, np.swapaxes(k, -2, -1))
    if mask is not None:
        np.copyto(weights, -np.inf, where=np.logical_not(mask))
    weights = softmax(weights)
    return np.matmul(weights, v), weights


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    length, width = x.shape
    if width % num_heads:
        raise ValueError(f"{width} features, {num_heads} heads")
    by_token = length, num_heads, width // num_heads
    q, k, v = (np.matmul(x, w).reshape(by_token).transpose(1, 0, 2) for w in (w_q, w_k, w_v))
    mask = np.tril(np.full((length, length), True)) if causal else None
    heads, _ = scaled_dot_product_attention(q, k, v, mask)
    return np.matmul(np.swapaxes(heads, 0, 1).reshape(length, width), w_o)
