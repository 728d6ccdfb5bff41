"""Join the leading dims, and let baddbmm compute product, scale and additive mask in one call.

The bias is a tensor of the size of the scores, even without a mask. In return, the scale and the
mask need no separate operations on the scores.
"""

import math

import torch


def as_bias(mask, shape, like):
    bias = torch.zeros(shape, dtype=like.dtype, device=like.device)
    if mask is None:
        return bias
    return bias.masked_fill_(torch.logical_not(mask), -1e9)


def scaled_dot_product_attention(q, k, v, mask=None):
    *lead, n_queries, dim = q.shape
    n_keys, value_dim = v.shape[-2:]
    items = math.prod(lead)
    bias = as_bias(mask, (*lead, n_queries, n_keys), q).reshape(items, n_queries, n_keys)
    scores = torch.baddbmm(bias, q.reshape(items, n_queries, dim), k.reshape(items, n_keys, dim).mT, alpha=1 / math.sqrt(dim))
    probs = scores.softmax(-1)
    return probs.bmm(v.reshape(items, n_keys, value_dim)).reshape(*lead, n_queries, value_dim)
