"""Copy the row of the parent, and add the node itself.

A parent's row is complete when its children need it, because parents come first. Each row costs a
single operation, but the rows must be made one by one, in order.
"""

import torch


def tree_mask(parents):
    rows = torch.eye(len(parents), dtype=torch.bool, device=parents.device)
    for child, parent in enumerate(parents.tolist()):
        if parent != -1:
            rows[child] |= rows[parent]
    return rows
