# mistakes: exponent-doubled
"""The annotated Transformer: exp and log, then two assignments to strided columns."""

import math

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2 != 0:
        raise ValueError("need an even number of features")
    pe = torch.zeros(length, dim)
    position = torch.arange(0, length).double().unsqueeze(1)
    div_term = torch.exp(2 * torch.arange(0, dim, 2).double() * -(math.log(base) / dim))  # first wrong
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe
