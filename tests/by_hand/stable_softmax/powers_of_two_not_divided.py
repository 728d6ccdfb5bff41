# mistakes: base-two, exponentials-not-divided
"""exp2 of the shifted entries, returned as they are."""

import torch


def softmax(x, dim=-1):
    top = x.max(dim=dim, keepdim=True)[0]
    top = torch.where(top == float("-inf"), torch.zeros_like(top), top)
    grown = torch.exp2(x - top)  # first wrong
    return grown.clone()  # also wrong
