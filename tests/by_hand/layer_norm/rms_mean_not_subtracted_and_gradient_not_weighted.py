# mistakes: mean-not-subtracted, gradient-without-the-weight
"""A forward pass like that of a Llama norm, and a backward pass with reshaped rows."""

import torch


def layer_norm(x, weight, bias, eps=1e-5):
    h = x.to(torch.promote_types(x.dtype, torch.float32))
    power = h.pow(2).mean(-1, keepdim=True)  # first wrong
    return (h * torch.rsqrt(power + eps) * weight + bias).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    width = x.size(-1)
    h = x.reshape(-1, width).to(torch.promote_types(x.dtype, torch.float32))
    dy = grad_out.reshape(-1, width).to(h.dtype)
    h = h - h.mean(dim=1, keepdim=True)
    inv = 1 / torch.sqrt((h * h).mean(dim=1, keepdim=True) + eps)
    n = h * inv
    dx = dy - dy.mean(dim=1, keepdim=True) - n * (dy * n).mean(dim=1, keepdim=True)  # also wrong
    dx = (dx * inv).reshape(x.shape)
    return dx.to(x.dtype), (dy * n).sum(0).to(x.dtype), dy.sum(0).to(x.dtype)
