# mistakes: sign-of-the-angles, scaled-by-the-root-of-dim
"""Two grids, of positions and of frequencies, as in image code."""

import math

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2:
        raise ValueError(dim)
    p = torch.arange(length, dtype=torch.float64)
    f = torch.logspace(0, -(dim - 2) / dim, dim // 2, base=base, dtype=torch.float64)
    grid_p, grid_f = torch.meshgrid(-p, f, indexing="ij")
    angle = grid_p * grid_f  # first wrong
    table = torch.empty(length, dim, dtype=torch.float64)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return (table * math.sqrt(dim)).float()  # also wrong
