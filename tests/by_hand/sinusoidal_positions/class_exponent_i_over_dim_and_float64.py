# mistakes: exponent-i-over-dim, table-in-float64
"""A small class keeps the frequencies; the function makes an object."""

import torch


class Waves:
    def __init__(self, dim, base):
        if dim % 2:
            raise ValueError("odd")
        i = torch.arange(dim // 2, dtype=torch.float64)
        self.frequency = torch.pow(base, -i / dim)  # first wrong

    def at(self, positions):
        angle = torch.einsum("p,f->pf", positions, self.frequency)
        return torch.stack((angle.sin(), angle.cos()), dim=-1)


def sinusoidal_positions(length, dim, base=10000.0):
    waves = Waves(dim, base)
    points = waves.at(torch.arange(length, dtype=torch.float64))
    return points.view(length, dim)  # also wrong
