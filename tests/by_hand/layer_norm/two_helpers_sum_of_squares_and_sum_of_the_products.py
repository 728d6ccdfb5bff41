# mistakes: sum-of-squares-for-variance, sum-of-the-products
"""Helpers with words for names; the backward pass does not use those of the forward pass."""

import torch


def centre(rows):
    return rows - torch.mean(rows, dim=-1, keepdim=True)


def layer_norm(x, weight, bias, eps=1e-5):
    rows = centre(x if x.dtype == torch.float64 else x.float())
    spread = torch.sum(rows**2, dim=-1, keepdim=True)  # first wrong
    return (rows / torch.sqrt(spread + eps) * weight + bias).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    rows = centre(x if x.dtype == torch.float64 else x.float())
    deviation = torch.sqrt(torch.mean(rows**2, dim=-1, keepdim=True) + eps)
    rows = rows / deviation
    arriving = grad_out.to(rows.dtype)
    inner = arriving * weight
    dot = torch.sum(inner * rows, dim=-1, keepdim=True)  # also wrong
    dx = (centre(inner) - rows * dot) / deviation
    over = tuple(range(rows.ndim - 1))
    dweight, dbias = torch.sum(arriving * rows, dim=over), torch.sum(arriving, dim=over)
    return dx.to(x.dtype), dweight.to(x.dtype), dbias.to(x.dtype)
