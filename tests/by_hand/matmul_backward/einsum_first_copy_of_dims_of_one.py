# mistakes: first-copy-of-dims-of-one
"""einsum for the products; a narrow cut for the dims of size 1."""

import torch


def reduced(g, shape):
    lost = g.ndim - len(shape)
    g = torch.sum(g, dim=list(range(lost))) if lost else g
    for axis, size in enumerate(shape):
        g = g.narrow(axis, 0, size)  # first wrong
    return g


def matmul_backward(a, b, grad_out):
    da = torch.einsum("...nm,...km->...nk", grad_out, b)
    db = torch.einsum("...nk,...nm->...km", a, grad_out)
    return reduced(da, a.shape), reduced(db, b.shape)
