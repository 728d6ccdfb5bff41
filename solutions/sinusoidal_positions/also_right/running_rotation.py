"""Rotate every pair once more for each position: a running product of complex numbers.

The row of position p + 1 follows from the row of position p by one rotation, as the follow-up
question says. Rounding errors add up along the product, so this needs complex128.
"""

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2:
        raise ValueError(f"dim={dim} is odd")
    frequency = base ** (-torch.arange(0, dim, 2, dtype=torch.double) / dim)
    step = torch.complex(frequency.cos(), frequency.sin())
    factors = step.expand(length, -1).clone()
    factors[0] = 1
    points = factors.cumprod(0)
    return torch.stack([points.imag, points.real], 2).view(length, dim).to(torch.float)
