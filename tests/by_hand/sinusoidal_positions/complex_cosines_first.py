# mistakes: cosines-first
"""A point on the circle for each pair, read as two real numbers."""

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2:
        raise ValueError("dim must be even")
    freqs = base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angles = torch.outer(torch.arange(length).to(torch.float64), freqs)
    circle = torch.polar(torch.ones_like(angles), angles)
    numbers = torch.view_as_real(circle)  # first wrong
    return numbers.flatten(1).float()
