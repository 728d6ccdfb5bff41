# mistakes: scale-by-head-dim, mask-filled-with-zero
# diagnosis: no line
"""Long names and one step on each line."""

import numpy as np


def softmax(x, axis=-1):
    row_maximum = np.max(x, axis=axis, keepdims=True)
    row_maximum = np.where(row_maximum > -np.inf, row_maximum, 0)
    numerator = np.exp(x - row_maximum)
    denominator = np.sum(numerator, axis=axis, keepdims=True)
    denominator = np.where(denominator > 0, denominator, 1)
    return numerator / denominator


def scaled_dot_product_attention(query, key, value, mask=None):
    feature_count = query.shape[-1]
    similarity = np.matmul(query, np.swapaxes(key, -1, -2))
    similarity = similarity / feature_count  # first wrong
    if mask is not None:
        similarity = similarity * mask  # also wrong
    attention_weights = softmax(similarity)
    context = np.matmul(attention_weights, value)
    return context, attention_weights


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    token_count, model_width = x.shape
    if model_width % num_heads != 0:
        raise ValueError("model_width must be divisible by num_heads")
    head_width = model_width // num_heads
    head_shape = (token_count, num_heads, head_width)
    query = np.swapaxes(np.matmul(x, w_q).reshape(head_shape), 0, 1)
    key = np.swapaxes(np.matmul(x, w_k).reshape(head_shape), 0, 1)
    value = np.swapaxes(np.matmul(x, w_v).reshape(head_shape), 0, 1)
    causal_mask = np.tri(token_count, dtype=bool) if causal else None
    context, _ = scaled_dot_product_attention(query, key, value, causal_mask)
    return np.matmul(np.swapaxes(context, 0, 1).reshape(token_count, model_width), w_o)
