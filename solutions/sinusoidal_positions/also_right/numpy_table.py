"""Make the table in numpy, whose numbers are float64 by default, and hand it to torch.

No dtype must be named until the end, so nothing can be forgotten. The table is always made on the
CPU, and torch.compile cannot look into it.
"""

import numpy as np
import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2:
        raise ValueError("dim must be even")
    omega = 1.0 / base ** (np.arange(dim // 2) / (dim / 2))
    angle = np.einsum("p,i->pi", np.arange(length), omega)
    table = np.empty((length, dim), dtype=np.float32)
    table[:, ::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return torch.from_numpy(table)
