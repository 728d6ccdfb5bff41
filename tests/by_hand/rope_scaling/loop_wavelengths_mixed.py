# mistakes: wavelengths-mixed
"""A Python loop over the pairs, tensors only for single frequencies, stacked last."""

import math

import torch


def ntk_inv_freq(head_dim, base, scale):
    bigger = base * math.pow(scale, head_dim / (head_dim - 2))
    return torch.tensor([bigger ** (-2.0 * i / head_dim) for i in range(head_dim // 2)])


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    def dim(r):
        return head_dim * math.log(original_max_len / (2 * math.pi * r)) / (2 * math.log(base))

    low = max(math.floor(dim(beta_fast)), 0)
    high = min(math.ceil(dim(beta_slow)), head_dim - 1)
    if low == high:
        high += 0.001
    f = torch.tensor([base ** (-2.0 * i / head_dim) for i in range(head_dim // 2)])
    g = torch.tensor([min(max((i - low) / (high - low), 0.0), 1.0) for i in range(head_dim // 2)])
    slowness = (1 - g) / f + g * scale / f
    result = slowness.reciprocal()  # first wrong
    return result, 1.0 if scale <= 1 else 0.1 * math.log(scale) + 1.0
