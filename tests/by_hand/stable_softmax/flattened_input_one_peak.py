# mistakes: maximum-of-the-whole-tensor
"""A nested function finds the peak of everything."""

import torch


def softmax(x, dim=-1):
    def peak():
        top = x.max()
        return top if top > float("-inf") else torch.zeros_like(top)

    e = torch.exp(x - peak())  # first wrong
    z = torch.sum(e, dim, keepdim=True)
    return torch.where(z > 0, e / torch.where(z > 0, z, torch.ones_like(z)), torch.zeros_like(e))
