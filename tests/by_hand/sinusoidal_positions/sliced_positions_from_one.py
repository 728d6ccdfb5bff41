# mistakes: positions-from-one
"""A table with one row more is sliced; frequencies as a list of Python numbers."""

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2:
        raise ValueError("dim")
    frequencies = torch.tensor([base ** (-2 * i / dim) for i in range(dim // 2)], dtype=torch.double)
    angle = torch.arange(length + 1, dtype=torch.double).view(-1, 1) * frequencies
    rows = angle[1:]  # first wrong
    out = torch.zeros(length, dim)
    out[:, 0::2].copy_(rows.sin())
    out[:, 1::2].copy_(rows.cos())
    return out
