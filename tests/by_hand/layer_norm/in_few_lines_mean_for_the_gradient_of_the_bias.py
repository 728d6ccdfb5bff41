# mistakes: mean-for-the-gradient-of-the-bias
"""Few lines, and the bias gradient as a mean over the flattened batch."""

import torch


def hats(x, eps):
    y = x.double() if x.dtype is torch.float64 else x.float()
    y = y - y.mean(-1, True)
    s = (y.square().mean(-1, True) + eps).sqrt()
    return y / s, s


def layer_norm(x, weight, bias, eps=1e-5):
    return torch.add(hats(x, eps)[0].mul(weight), bias).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    y, s = hats(x, eps)
    t = weight * grad_out.to(y.dtype)
    dx = (t - t.mean(-1, True) - y * (t * y).mean(-1, True)) / s
    dw = (grad_out.to(y.dtype) * y).flatten(0, -2).sum(0)
    db = grad_out.to(y.dtype).flatten(0, -2).mean(0)  # first wrong
    return dx.to(x.dtype), dw.to(x.dtype), db.to(x.dtype)
