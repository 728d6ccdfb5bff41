"""Treat a shared b as the weight of a linear layer: one product of two tall matrices gives db.

The usual case needs no batch of gradients, and so B times less memory. All other cases still need
the general way, so there are two paths to test.
"""

import torch


def matmul_backward(a, b, grad_out):
    k, m = b.shape[-2:]
    if b.numel() == k * m and grad_out.dim() == a.dim():
        rows, grads = a.expand(*grad_out.shape[:-1], k).reshape(-1, k), grad_out.reshape(-1, m)
        db = (rows.t() @ grads).reshape(b.shape)
        return (grad_out @ b.reshape(k, m).t()).sum_to_size(a.shape), db
    lead = grad_out.shape[:-2]
    whole_a, whole_b = a.expand(*lead, -1, -1), b.expand(*lead, -1, -1)
    da = torch.einsum("...nm,...km->...nk", grad_out, whole_b)
    db = torch.einsum("...nk,...nm->...km", whole_a, grad_out)
    return summed(da, a), summed(db, b)


def summed(grad, operand):
    front = grad.dim() - operand.dim()
    grad = grad.flatten(0, front - 1).sum(0) if front else grad
    for axis in range(operand.dim() - 2):
        grad = grad.sum(axis, keepdim=True) if operand.shape[axis] == 1 else grad
    return grad
