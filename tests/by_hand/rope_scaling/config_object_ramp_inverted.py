# mistakes: ramp-inverted
"""A dataclass keeps the settings; the mask is the share of the frequencies that stay."""

import math
from dataclasses import dataclass

import torch


@dataclass
class Scaling:
    dim: int
    base: float
    factor: float

    def powers(self, base):
        return 1.0 / base ** (torch.arange(0, self.dim, 2).float() / self.dim)

    def where(self, turns, length):
        return self.dim * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(self.base))


def ntk_inv_freq(head_dim, base, scale):
    config = Scaling(head_dim, base, scale)
    return config.powers(base * scale ** (head_dim / (head_dim - 2)))


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    config = Scaling(head_dim, base, scale)
    lo = max(0, math.floor(config.where(beta_fast, original_max_len)))
    hi = min(head_dim - 1, math.ceil(config.where(beta_slow, original_max_len)))
    if lo == hi:
        hi += 0.001
    mask = torch.clamp((torch.arange(head_dim // 2).float() - lo) / (hi - lo), 0, 1)
    kept = config.powers(base)
    slowed = kept / scale
    freqs = kept * mask + slowed * (1 - mask)  # first wrong
    return freqs, (1.0 if scale <= 1 else 1.0 + 0.1 * math.log(scale))
