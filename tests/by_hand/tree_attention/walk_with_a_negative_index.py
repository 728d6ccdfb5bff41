# mistakes: negative-index
"""Walk up from each node, with a counter in place of a test for -1."""

import torch


def tree_mask(parents):
    size = len(parents)
    table = parents.tolist()
    grid = [[False] * size for _ in range(size)]
    for start in range(size):
        place = start
        for _ in range(size):
            if place >= 0:
                grid[start][place] = True
            place = table[place]  # first wrong
    return torch.tensor(grid, device=parents.device)
