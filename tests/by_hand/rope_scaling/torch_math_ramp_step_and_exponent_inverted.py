# mistakes: ntk-exponent-inverted, ramp-replaced-by-a-step
"""torch for the ends of the ramp too, with 0-dim tensors."""

import math

import torch


def freqs_of(dim, base):
    return torch.exp2(torch.arange(0, dim, 2) * (-math.log2(base) / dim))


def ntk_inv_freq(head_dim, base, scale):
    larger = torch.tensor(base) * scale ** ((head_dim - 2) / head_dim)  # first wrong
    return larger ** (torch.arange(0, head_dim, 2) / -head_dim)


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    turns = torch.tensor([beta_fast, beta_slow], dtype=torch.float64)
    dims = head_dim * torch.log(original_max_len / (2 * math.pi * turns)) / (2 * math.log(base))
    low = dims[0].floor().clamp_min(0)
    high = dims[1].ceil().clamp_max(head_dim - 1)
    high = torch.where(high == low, high + 0.001, high)
    slope = (torch.arange(head_dim // 2) - low) / (high - low)
    ramp = torch.where(slope > 0.5, 1.0, 0.0)  # also wrong
    old = freqs_of(head_dim, base)
    inv_freq = old * (1 - ramp) + old * ramp / scale
    return inv_freq, (0.1 * math.log(scale) + 1 if scale > 1 else 1.0)
