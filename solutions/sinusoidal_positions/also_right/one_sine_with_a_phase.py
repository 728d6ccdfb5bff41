"""Take one sine of all columns: a cosine is a sine with a phase of a quarter turn.

There is no stacking and no slicing, only one expression for column c. Every frequency is computed
twice, and the sum of angle and phase is safe only because it is float64.
"""

import math

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim & 1:
        raise ValueError("an even dim is required")
    column = torch.arange(dim)
    is_cosine = column % 2
    frequency = torch.pow(base, -(column - is_cosine).double() / dim)
    phase = is_cosine.double() * (math.pi / 2)
    p = torch.arange(length).double().reshape(-1, 1)
    return torch.sin(torch.addcmul(phase, p, frequency)).to(torch.float32)
