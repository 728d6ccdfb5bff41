# mistakes: exponent-from-one
"""Rates in a Python list, positions reshaped to [1 or B, 1, L, 1], pairs seen as an axis of size 2."""

import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    B, H, L, D = x.shape
    rates = [base ** (-2 * i / D) for i in range(1, D // 2 + 1)]  # first wrong
    theta = position_ids.reshape(-1, 1, L, 1) * torch.tensor(rates, device=x.device)
    c, s = theta.cos(), theta.sin()
    p = x.reshape(B, H, L, D // 2, 2)
    u, v = p[..., 0], p[..., 1]
    y = torch.empty(B, H, L, D // 2, 2, dtype=x.dtype, device=x.device)
    y[..., 0] = u * c - v * s
    y[..., 1] = u * s + v * c
    return y.reshape(B, H, L, D)
