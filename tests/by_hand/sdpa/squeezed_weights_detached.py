# mistakes: weights-detached
"""In as few lines as it goes."""

import math
import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    allowed = torch.ones((), dtype=torch.bool) if mask is None else mask
    return ((q @ k.mT) * (1 / math.sqrt(k.size(-1)))).where(allowed, -math.inf).softmax(-1).data @ v  # first wrong
