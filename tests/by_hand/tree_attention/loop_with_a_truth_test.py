# mistakes: node-zero-taken-for-none
"""Rows of parents are copied, in a loop over all nodes."""

import torch


def tree_mask(parents):
    seen = torch.eye(parents.size(0), dtype=torch.bool, device=parents.device)
    for i, p in enumerate(parents):
        if p > 0:  # first wrong
            seen[i] = torch.logical_or(seen[i], seen[p])
    return seen
