"""Use broadcast products and sums instead of the two matrix products, and logsumexp for softmax.

The products of all pairs take D times the memory of the scores, and Dv times in the second step.
The FLOPs are about the same, but no fast kernel for matrix products can be used.
"""

import math


def scaled_dot_product_attention(q, k, v, mask=None):
    pairs = q[..., :, None, :] * k[..., None, :, :]  # [..., Lq, Lk, D]
    scores = pairs.sum(-1).div(math.sqrt(pairs.shape[-1]))
    if mask is not None:
        scores = scores.masked_fill(mask.bitwise_not(), -math.inf)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return (weights[..., None] * v[..., None, :, :]).sum(-2)
