# mistakes: ramp-from-one
"""Wavelengths first, then three zones with torch.where."""

import math

import torch


def wavelengths(dim, base):
    return 2 * math.pi * torch.pow(base, torch.arange(0, dim, 2) / dim)


def ntk_inv_freq(head_dim, base, scale):
    larger = base * scale ** (head_dim / (head_dim - 2))
    return 2 * math.pi / wavelengths(head_dim, larger)


def boundary(turns, dim, base, length):
    return (dim * math.log(length / (turns * 2 * math.pi))) / (2 * math.log(base))


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    first = math.floor(boundary(beta_fast, head_dim, base, original_max_len))
    final = math.ceil(boundary(beta_slow, head_dim, base, original_max_len))
    first = 0 if first < 0 else first
    final = head_dim - 1 if final > head_dim - 1 else final
    if first == final:
        final = final + 0.001
    number = torch.arange(1, head_dim // 2 + 1, dtype=torch.float32)  # first wrong
    between = (number - first) / (final - first)
    plain = 2 * math.pi / wavelengths(head_dim, base)
    mixed = (1 - between) * plain + between * plain / scale
    mixed = torch.where(number <= first, plain, mixed)
    mixed = torch.where(number >= final, plain / scale, mixed)
    if scale <= 1:
        return mixed, 1.0
    return mixed, 0.1 * math.log(scale) + 1.0
