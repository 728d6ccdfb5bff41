# mistakes: largest-magnitude-subtracted
"""The peak is the largest absolute value, as a vector norm gives it."""

import torch


def softmax(x, dim=-1):
    finite = torch.where(x == float("-inf"), torch.zeros_like(x), x)
    peak = torch.linalg.vector_norm(finite, ord=float("inf"), dim=dim, keepdim=True)  # first wrong
    e = torch.exp(x - peak)
    z = e.sum(dim, keepdim=True)
    return e / z.masked_fill(z == 0, 1)
