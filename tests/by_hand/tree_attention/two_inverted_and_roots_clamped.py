# mistakes: root-zero-for-all, inverted
"""Pointer jumping: each row is joined with the row of an ancestor that is twice as far."""

import torch


def tree_mask(parents):
    n = len(parents)
    up = parents.clamp(min=0)
    view = torch.eye(n, dtype=torch.bool)
    for _ in range(n.bit_length()):
        view = view | view[up]  # first wrong
        up = up[up]
    return torch.logical_not(view)  # also wrong
