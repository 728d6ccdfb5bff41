"""Fill the even and the odd columns of an empty table, as the annotated Transformer does.

The strided slices say directly which column gets which function, and the assignment rounds to
float32. The frequencies through exp and log need two calls where one power is enough.
"""

import math

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2 != 0:
        raise ValueError(f"cannot split {dim} features into pairs")
    pe = torch.zeros(length, dim)
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64) * (-math.log(base) / dim))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe
