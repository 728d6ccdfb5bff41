"""Collect the branch of every node in plain Python, and make a single tensor at the end.

Nothing has to be vectorised, and each branch can be printed. The loops run in Python: N times the
depth of the tree.
"""

import torch


def branch(node, table):
    seen = []
    while node >= 0:
        seen.append(node)
        node = table[node]
    return seen


def tree_mask(parents):
    table = [int(parent) for parent in parents]
    visible = [[False] * len(table) for _ in table]
    for node in range(len(table)):
        for ancestor in branch(node, table):
            visible[node][ancestor] = True
    return torch.tensor(visible, dtype=torch.bool, device=parents.device)
