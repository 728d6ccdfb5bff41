# mistakes: transposed
"""A while loop marks the branch of each node in a column."""

import torch


def tree_mask(parents):
    total = int(parents.shape[0])
    picture = torch.zeros((total, total), dtype=torch.bool)
    for node in range(total):
        current = node
        while current != -1:
            picture[current, node] = True
            current = int(parents[current])
    return picture  # first wrong
