"""Compute in numpy with float64, clip the ramp there, and hand the result to torch.

This suits scripts that convert weights, which often work in numpy. The result is on the CPU, and
torch.compile cannot look into it.
"""

import numpy as np
import torch


def _inv_freq(head_dim, base):
    return np.power(float(base), -np.arange(0, head_dim, 2) / head_dim)


def ntk_inv_freq(head_dim, base, scale):
    alpha = np.power(scale, head_dim / (head_dim - 2))
    return torch.from_numpy(_inv_freq(head_dim, alpha * base).astype(np.float32))


def yarn_inv_freq(head_dim, base, scale, original_max_len, beta_fast=32.0, beta_slow=1.0):
    rotations = np.array([beta_fast, beta_slow])
    found = head_dim * np.log(original_max_len / (2 * np.pi * rotations)) / (2 * np.log(base))
    low = np.maximum(np.floor(found[0]), 0)
    high = np.minimum(np.ceil(found[1]), head_dim - 1)
    if low == high:
        high += 1e-3
    ramp = np.clip((np.arange(head_dim // 2) - low) / (high - low), 0, 1)
    freqs = _inv_freq(head_dim, base)
    mixed = np.where(ramp == 0, freqs, freqs * (1 - ramp) + freqs / scale * ramp)
    return torch.as_tensor(mixed, dtype=torch.float32), float(0.1 * np.log(scale) + 1 if scale > 1 else 1)
