# mistakes: one-added-to-the-sum
"""The quiet softmax: 1 in the denominator rescues empty rows."""

import torch


def softmax(x, dim=-1):
    m = torch.amax(x, dim, True)
    m = torch.where(torch.isfinite(m), m, torch.zeros_like(m))
    e = torch.exp(x - m)
    quiet = 1 + e.sum(dim, keepdim=True)  # first wrong
    return e / quiet
