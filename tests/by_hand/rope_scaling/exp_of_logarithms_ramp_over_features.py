# mistakes: ramp-over-features
"""Powers through exp and log, the ramp with minimum and maximum, everything in small helpers."""

import math

import torch


def powers(dim, log_base):
    steps = torch.arange(0, dim, 2, dtype=torch.float64)
    return torch.exp(-steps * log_base / dim).to(torch.float32)


def ends(dim, log_base, length, fast, slow):
    start = dim / 2 / log_base * math.log(length / (2 * math.pi * fast))
    stop = dim / 2 / log_base * math.log(length / (2 * math.pi * slow))
    return max(math.floor(start), 0), min(math.ceil(stop), dim - 1)


def ntk_inv_freq(head_dim, base, scale):
    log_base = math.log(base) + math.log(scale) * head_dim / (head_dim - 2)
    return powers(head_dim, log_base)


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    log_base = math.log(base)
    start, stop = ends(head_dim, log_base, original_max_len, beta_fast, beta_slow)
    width = 0.001 if stop == start else stop - start
    features = torch.arange(0, head_dim, 2)
    share = (features - start) / width  # first wrong
    share = share.minimum(torch.tensor(1.0)).maximum(torch.tensor(0.0))
    fast_part = powers(head_dim, log_base)
    slow_part = fast_part / scale
    mixed = fast_part + share * (slow_part - fast_part)
    attention = 0.1 * math.log(scale) + 1.0 if scale > 1.0 else 1.0
    return mixed, attention
