# mistakes: unbiased-variance
"""Statistics by torch.var and torch.mean, and a helper for both passes."""

import torch


def upcast(t):
    return t.float() if t.dtype == torch.bfloat16 else t


def layer_norm(x, weight, bias, eps=1e-5):
    h = upcast(x)
    spread = torch.var(h, -1, keepdim=True)  # first wrong
    y = (h - torch.mean(h, -1, keepdim=True)) / torch.sqrt(spread + eps)
    return (y * weight + bias).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    h, go = upcast(x), upcast(grad_out)
    std = (torch.var(h, -1, unbiased=False, keepdim=True) + eps).sqrt()
    y = (h - h.mean(-1, keepdim=True)) / std
    t = go * weight
    dx = (t - t.mean(-1, True) - y * (t * y).mean(-1, True)) / std
    dw = (go * y).flatten(0, -2).sum(0)
    db = go.flatten(0, -2).sum(0)
    return dx.to(x.dtype), dw.to(x.dtype), db.to(x.dtype)
