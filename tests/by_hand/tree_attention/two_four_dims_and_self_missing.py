# mistakes: self-missing, four-dims
"""Strictly earlier generations, with axes for batch and heads."""

import torch


def tree_mask(parents):
    n = parents.shape[0]
    cells = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        p = int(parents[i])
        while p > -1:
            cells[i, p] = True  # first wrong
            p = int(parents[p])
    return cells.view(1, 1, n, n)  # also wrong
