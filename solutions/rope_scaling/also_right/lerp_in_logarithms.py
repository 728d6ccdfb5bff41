"""Make the frequencies with exp of a multiple of log(base), in float64, and mix them with lerp.

One operation mixes both kinds of frequencies. It is easy to forget the casts to float32, and
float64 is slow or missing on some devices.
"""

import math

import torch


def _powers(log_base, head_dim):
    i = torch.arange(head_dim // 2, dtype=torch.float64)
    return torch.exp(i * (-2.0 * log_base / head_dim))


def ntk_inv_freq(head_dim: int, base: float, scale: float) -> torch.Tensor:
    log_base = math.log(base) + head_dim / (head_dim - 2) * math.log(scale)
    return _powers(log_base, head_dim).to(torch.float32)


def yarn_inv_freq(head_dim: int, base: float, scale: float, original_max_len: int, beta_fast: float = 32.0, beta_slow: float = 1.0):
    log_base = math.log(base)
    freqs = _powers(log_base, head_dim)
    turns = torch.tensor([beta_fast, beta_slow], dtype=torch.float64)
    ends = head_dim * (math.log(original_max_len) - torch.log(2 * math.pi * turns)) / (2 * log_base)
    low = int(ends[0].floor().clamp(min=0))
    high = float(ends[1].ceil().clamp(max=head_dim - 1))
    high = high + 0.001 if high == low else high
    ramp = ((torch.arange(head_dim // 2, dtype=torch.float64) - low) / (high - low)).clamp(0.0, 1.0)
    mixed = torch.lerp(freqs, freqs / scale, ramp)
    return mixed.float(), 1.0 + 0.1 * math.log(max(scale, 1.0))
