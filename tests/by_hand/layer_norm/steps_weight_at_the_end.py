# mistakes: weight-at-the-end
"""One line for each step of the forward pass; the weight is taken out of the means."""

import torch


def layer_norm(x, weight, bias, eps=1e-5):
    d = x.shape[-1]
    a = x.to(torch.promote_types(torch.float32, x.dtype))
    shift = a.sum(-1, keepdim=True) / d
    b = a - shift
    c = (b * b).sum(-1, keepdim=True) / d
    e = torch.sqrt(c + eps)
    return (weight * (b / e) + bias).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    d = x.shape[-1]
    a = x.to(torch.promote_types(torch.float32, x.dtype))
    b = a - a.sum(-1, keepdim=True) / d
    e = torch.sqrt((b * b).sum(-1, keepdim=True) / d + eps)
    f = b / e
    dims = list(range(x.dim() - 1))
    dw = (grad_out * f).sum(dims)
    p = grad_out.to(a.dtype)
    inner = p - p.sum(-1, keepdim=True) / d - f * (p * f).sum(-1, keepdim=True) / d  # first wrong
    da = inner * weight / e
    return da.to(x.dtype), dw.to(x.dtype), grad_out.sum(dims)
