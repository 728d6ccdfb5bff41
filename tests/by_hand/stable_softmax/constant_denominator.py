# mistakes: sum-detached
"""The denominator is computed without gradients."""

import torch


def softmax(x, dim=-1):
    m = x.max(dim, keepdim=True).values
    m = m.masked_fill(m == float("-inf"), 0)
    e = (x - m).exp()
    with torch.no_grad():
        z = e.sum(dim, keepdim=True)  # first wrong
        z[z == 0] = 1
    return e / z
