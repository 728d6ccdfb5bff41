"""Broadcast products and sums, no matrix product at all; weights as exp of score minus logsumexp."""

import math


def scaled_dot_product_attention(q, k, v, mask=None):
    pairs = q[..., :, None, :] * k[..., None, :, :]  # [..., Lq, Lk, D]
    scores = pairs.sum(-1).div(math.sqrt(pairs.shape[-1]))
    if mask is not None:
        scores = scores.masked_fill(mask.bitwise_not(), -math.inf)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return (weights[..., None] * v[..., None, :, :]).sum(-2)
