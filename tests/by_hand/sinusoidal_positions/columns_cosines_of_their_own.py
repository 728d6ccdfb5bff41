# mistakes: cosines-of-their-own-columns
"""A loop over the columns; each column has its own angle."""

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2 == 1:
        raise ValueError("odd dim")
    t = torch.arange(length, dtype=torch.double)
    pe = torch.empty(length, dim)
    for c in range(dim):
        angle = t / base ** (c / dim)
        if c % 2 == 0:
            pe[:, c] = angle.sin()
        else:
            pe[:, c] = angle.cos()  # first wrong
    return pe
