# mistakes: bias-before-the-weight
"""A small class that holds the statistics of a tensor."""

import torch


class Rows:
    """The rows of a tensor with their statistics."""

    def __init__(self, x, eps):
        self.dtype = x.dtype
        x = x.type(torch.promote_types(x.dtype, torch.float32))
        self.offset = x - x.mean(dim=-1, keepdim=True)
        self.inverse = self.offset.pow(2).mean(dim=-1, keepdim=True).add(eps).rsqrt()

    @property
    def hat(self):
        return self.offset * self.inverse


def layer_norm(x, weight, bias, eps=1e-5):
    rows = Rows(x, eps)
    return rows.hat.add(bias).mul(weight).to(x.dtype)  # first wrong


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    rows = Rows(x, eps)
    hat = rows.hat
    g = grad_out.to(hat.dtype)
    wg = weight * g
    m1, m2 = wg.mean(dim=-1, keepdim=True), (wg * hat).mean(dim=-1, keepdim=True)
    dx = (wg - m1 - hat * m2) * rows.inverse
    while g.dim() > 2:
        g, hat = g.flatten(0, 1), hat.flatten(0, 1)
    return dx.to(x.dtype), (g * hat).sum(0).to(x.dtype), g.sum(0).to(x.dtype)
