# mistakes: ntk-base-times-scale, frequencies-added
"""Frequencies as a running product of one ratio."""

import math

import torch


def running(dim, base):
    ratio = base ** (-2 / dim)
    return torch.cat([torch.ones(1), torch.full((dim // 2 - 1,), ratio)]).cumprod(0)


def ntk_inv_freq(head_dim, base, scale):
    ratio = torch.full((head_dim // 2,), base * scale) ** (-2 / head_dim)  # first wrong
    return ratio.cumprod(0) / ratio[0]


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    per_log = head_dim / (2 * math.log(base))
    low = max(math.floor(per_log * math.log(original_max_len / (2 * math.pi * beta_fast))), 0)
    high = min(math.ceil(per_log * math.log(original_max_len / (2 * math.pi * beta_slow))), head_dim - 1)
    if low == high:
        high += 0.001
    weight = torch.clamp((torch.arange(head_dim // 2) - low) / (high - low), min=0, max=1)
    old = running(head_dim, base)
    new = old / scale
    both = old + weight * new  # also wrong
    factor = 1.0
    if scale > 1:
        factor += 0.1 * math.log(scale)
    return both, factor
