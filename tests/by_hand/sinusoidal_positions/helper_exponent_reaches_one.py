# mistakes: exponent-reaches-one
"""Frequencies in a helper, as in tensor2tensor's code for signals."""

import math

import torch


def frequencies(pairs, largest):
    step = math.log(largest) / max(pairs - 1, 1)
    return torch.exp(torch.arange(pairs, dtype=torch.float64) * -step)  # first wrong


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2:
        raise ValueError(f"dim {dim} cannot be split into pairs")
    scaled = torch.arange(length, dtype=torch.float64)[:, None] * frequencies(dim // 2, base)[None]
    signal = torch.stack([scaled.sin(), scaled.cos()], dim=2)
    return signal.reshape(length, dim).to(torch.float32)
