# mistakes: parent-only
"""An identity and a comparison of parents with columns."""

import torch


def tree_mask(parents):
    columns = torch.arange(parents.numel(), device=parents.device)
    own = columns.unsqueeze(1) == columns.unsqueeze(0)
    edge = parents.unsqueeze(1) == columns.unsqueeze(0)
    return own | edge  # first wrong
