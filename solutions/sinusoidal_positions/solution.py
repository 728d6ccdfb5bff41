"""The position table of the original Transformer: sines and cosines of many frequencies.

    table[p, 2i] = sin(p / base**(2i/dim))    table[p, 2i + 1] = cos(p / base**(2i/dim))

Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
"""

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    """Return the sines and cosines of all positions, float32 [length, dim]."""
    if dim % 2:
        raise ValueError(f"dim must be even, not {dim}")
    # float64: between 2048 and 4096, neighbouring numbers of float32 are 2.4e-4 apart
    positions = torch.arange(length, dtype=torch.float64)  # [length]
    exponents = torch.arange(0, dim, 2, dtype=torch.float64) / dim  # [dim/2], 2i / dim
    frequencies = base**-exponents  # [dim/2], from 1 down to a little more than 1 / base
    angles = positions[:, None] * frequencies  # [length, dim/2]

    sines = torch.sin(angles)  # [length, dim/2]
    cosines = torch.cos(angles)  # [length, dim/2]
    pairs = torch.stack((sines, cosines), dim=-1)  # [length, dim/2, 2]
    table = pairs.flatten(start_dim=1)  # [length, dim]: sine, cosine, sine, cosine ...
    return table.to(torch.float32)
