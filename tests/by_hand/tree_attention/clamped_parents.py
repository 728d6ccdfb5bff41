# mistakes: root-zero-for-all
"""The parents are clamped, so that every index is legal."""

import torch


def tree_mask(parents):
    n = parents.shape[0]
    table = parents.clamp(min=0)
    out = torch.zeros(n, n, dtype=torch.bool)
    out[0, 0] = True
    for k in range(1, n):
        out[k] = out[table[k]]  # first wrong
        out[k, k] = True
    return out
