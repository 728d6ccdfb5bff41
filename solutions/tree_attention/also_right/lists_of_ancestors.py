"""Collect the branch of every node in plain Python, and make a single tensor at the end.

There is nothing to vectorise, and you can print each branch. The loops run in Python: N times the
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
