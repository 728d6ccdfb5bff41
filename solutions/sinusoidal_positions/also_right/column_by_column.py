"""Make the columns one by one in a loop over the pairs, and put them side by side.

The loop reads like the formula, with i as in the paper. It runs dim / 2 times, which is slow for a
wide model, though the table is made only once.
"""

from math import pow

import torch


def sinusoidal_positions(length, dim, base=10000.0):
    if dim % 2 == 1:
        raise ValueError("dim is odd")
    p = torch.arange(length, dtype=torch.float64)
    columns = []
    for i in range(dim // 2):
        angle = p / pow(base, 2 * i / dim)
        columns += [torch.sin(angle), torch.cos(angle)]
    return torch.column_stack(columns).float()
