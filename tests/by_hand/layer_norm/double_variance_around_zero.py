# mistakes: variance-around-zero
"""Everything in float64, and means as products with a vector of 1 / D."""

import torch


def row_mean(t):
    return (t @ t.new_full((t.shape[-1], 1), 1.0)) / t.shape[-1]


def layer_norm(x, weight, bias, eps=1e-5):
    t = x.double()
    centre = row_mean(t)
    power = row_mean(t * t)  # first wrong
    hat = (t - centre) * (power + eps) ** -0.5
    return (hat * weight.double() + bias.double()).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    t, g = x.double(), grad_out.double()
    t = t - row_mean(t)
    inv = (row_mean(t * t) + eps) ** -0.5
    hat = t * inv
    gw = g * weight.double()
    dx = inv * (gw - row_mean(gw) - hat * row_mean(gw * hat))
    keep = x.shape[-1]
    dw, db = (g * hat).reshape(-1, keep).sum(0), g.reshape(-1, keep).sum(0)
    return dx.to(x.dtype), dw.to(x.dtype), db.to(x.dtype)
