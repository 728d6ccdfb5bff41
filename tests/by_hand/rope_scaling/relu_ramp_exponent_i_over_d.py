# mistakes: exponent-i-over-d
"""The ramp with relu; both functions share one table of frequencies."""

import math

import torch
import torch.nn.functional as F


def table(dim, base):
    i = torch.arange(dim // 2)
    return torch.pow(base, -i / dim)  # first wrong


def ntk_inv_freq(head_dim, base, scale):
    return table(head_dim, base * scale ** (head_dim / (head_dim - 2)))


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    angle_to_pair = head_dim / (2 * math.log(base))
    low = math.floor(angle_to_pair * math.log(original_max_len / (2 * math.pi * beta_fast)))
    high = math.ceil(angle_to_pair * math.log(original_max_len / (2 * math.pi * beta_slow)))
    low, high = max(low, 0), min(high, head_dim - 1)
    high = high if high > low else high + 0.001
    t = (torch.arange(head_dim // 2) - low) / (high - low)
    t = 1 - F.relu(1 - F.relu(t))
    freq = table(head_dim, base)
    freq = freq - freq * t * (1 - 1 / scale)
    return freq, max(1.0, 0.1 * math.log(scale) + 1.0)
