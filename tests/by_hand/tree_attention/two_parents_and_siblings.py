# mistakes: parent-only, siblings-visible
"""Rows as sets of indices."""

import torch


def tree_mask(parents):
    table = parents.tolist()
    rows = [{i} for i in range(len(table))]
    for i, p in enumerate(table):
        if p >= 0:
            rows[i].add(p)
            rows[i].update(j for j, q in enumerate(table) if q == p)
    final = torch.zeros(len(table), len(table), dtype=torch.bool)
    for i, row in enumerate(rows):
        final[i, sorted(row)] = True  # first wrong
    return final
