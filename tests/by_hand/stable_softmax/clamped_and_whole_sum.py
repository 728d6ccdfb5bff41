# mistakes: entries-clamped, sum-over-the-whole-tensor
"""Limits instead of a shift, and one sum for everything."""

import torch


def softmax(x, dim=-1):
    limited = torch.clamp(x, min=-50, max=50)  # first wrong
    e = torch.exp(limited - limited.amax(dim, keepdim=True))
    total = torch.sum(e)  # also wrong
    return e / total
