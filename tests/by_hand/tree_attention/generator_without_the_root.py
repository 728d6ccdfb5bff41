# mistakes: roots-invisible
"""A generator yields the branch of a node."""

import torch


def up(node, table):
    yield node
    above = table[node]
    while above >= 0 and table[above] >= 0:
        yield above
        above = table[above]


def tree_mask(parents):
    table = parents.tolist()
    result = torch.zeros(len(table), len(table), dtype=torch.bool)
    for node in range(len(table)):
        result[node, list(up(node, table))] = True  # first wrong
    return result
