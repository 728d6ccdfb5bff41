# mistakes: mask-of-floats
"""Powers of the matrix of edges, as float32."""

import torch


def tree_mask(parents):
    n = len(parents)
    step = torch.zeros(n, n)
    for child, parent in enumerate(parents.tolist()):
        if parent != -1:
            step[child, parent] = 1.0
    power = torch.eye(n)
    total = torch.zeros(n, n)
    for _ in range(n):
        total = total + power
        power = power @ step
    return total  # first wrong
