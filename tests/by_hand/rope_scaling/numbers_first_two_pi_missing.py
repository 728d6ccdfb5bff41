# mistakes: two-pi-missing
"""The ramp as a list of Python numbers that becomes a tensor."""

import math

import torch


def inverse(dim, base):
    return torch.tensor(base).pow(torch.arange(0, dim, 2).neg() / dim)


def ntk_inv_freq(head_dim, base, scale):
    return inverse(head_dim, base * scale ** (head_dim / (head_dim - 2)))


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    half = head_dim // 2
    begin = half * math.log(original_max_len / beta_fast, base)  # first wrong
    stop = half * math.log(original_max_len / beta_slow, base)
    begin, stop = max(math.floor(begin), 0), min(math.ceil(stop), head_dim - 1)
    numbers = torch.arange(half) - begin
    ramp = torch.clip(numbers / (stop - begin if stop != begin else 0.001), 0, 1)
    inv = inverse(head_dim, base)
    inv_slow = inv.div(scale)
    return inv.mul(1 - ramp).add(inv_slow.mul(ramp)), 0.1 * math.log(scale) + 1 if scale > 1 else 1.0
