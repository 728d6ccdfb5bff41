# mistakes: base-ignored, only-sines
"""As short as possible."""

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2: raise ValueError(dim)
    x = torch.arange(length).double()[:, None] / 1e4 ** (torch.arange(0, dim, 2).double() / dim)  # first wrong
    return torch.stack((x.sin(), x.sin()), -1).flatten(1).float()  # also wrong
