# mistakes: angles-in-full-turns
"""One sine for all columns; cosines have a phase of a quarter turn."""

import math

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim & 1:
        raise ValueError("only even numbers of features")
    column = torch.arange(dim, dtype=torch.float64)
    even = column - column % 2
    turns = torch.arange(length, dtype=torch.float64)[:, None] * base ** (-even / dim)
    radians = 2 * math.pi * turns  # first wrong
    return torch.sin(radians + math.pi / 2 * (column % 2)).float()
