# mistakes: queries-scaled-in-place
"""Many short lines, softmax as exp of log_softmax, a nested function that makes the additive mask."""

import torch
from torch.nn.functional import log_softmax


def scaled_dot_product_attention(q, k, v, mask=None):
    def additive(dtype):
        hidden = torch.logical_not(mask)
        bias = torch.zeros(hidden.shape, dtype=dtype)
        bias[hidden] = -1e9
        return bias

    size = q.size(-1)
    root = size**0.5
    q.div_(root)  # first wrong
    kt = torch.movedim(k, -1, -2)
    dots = torch.matmul(q, kt)
    if mask is not None:
        dots = dots + additive(dots.dtype)
    logs = log_softmax(dots, dim=-1)
    weights = logs.exp()
    return torch.matmul(weights, v)
