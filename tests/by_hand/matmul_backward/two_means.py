# mistakes: mean-over-missing-dims, mean-over-dims-of-one
"""One function for each of the two ways to broadcast."""

import torch


def front(g, like):
    axes = tuple(range(g.dim() - like.dim()))
    return torch.mean(g, axes) if axes else g  # first wrong


def ones(g, like):
    axes = tuple(i for i in range(like.dim()) if like.shape[i] == 1)
    return torch.mean(g, axes, keepdim=True) if axes else g  # also wrong


def matmul_backward(a, b, grad_out):
    da = torch.matmul(grad_out, b.mT)
    db = torch.matmul(a.mT, grad_out)
    return ones(front(da, a), a), ones(front(db, b), b)
