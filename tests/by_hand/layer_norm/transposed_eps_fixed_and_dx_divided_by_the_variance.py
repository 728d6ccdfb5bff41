# mistakes: eps-fixed, dx-divided-by-the-variance
"""Features moved to the first axis, so that no kept axis is needed."""

import torch


def first(t):
    return t.to(torch.promote_types(t.dtype, torch.float32)).movedim(-1, 0)


def column(weight, t):
    return weight.to(t.dtype).reshape(-1, *[1] * (t.dim() - 1))


def layer_norm(x, weight, bias, eps=1e-5):
    t = first(x)
    t = t - t.mean(0)
    t = t * (t.square().mean(0) + 1e-5).rsqrt()  # first wrong
    return (t * column(weight, t) + column(bias, t)).movedim(0, -1).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    t, g = first(x), first(grad_out)
    t = t - t.mean(0)
    power = t.square().mean(0) + eps
    hat = t / power.sqrt()
    gw = g * column(weight, g)
    dx = (gw - gw.mean(0) - hat * (gw * hat).mean(0)) / power  # also wrong
    dx = dx.movedim(0, -1).to(x.dtype)
    return dx, (g * hat).flatten(1).sum(1).to(x.dtype), g.flatten(1).sum(1).to(x.dtype)
