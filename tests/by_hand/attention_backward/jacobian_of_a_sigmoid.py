# mistakes: diagonal-only
"""Helpers for the steps; the derivative of the softmax is that of a sigmoid."""

import torch


def forward_weights(q, k, mask):
    energy = q @ k.transpose(3, 2) * q.shape[3] ** -0.5
    if mask is not None:
        energy = energy.masked_fill(~mask, -1e9)
    return torch.nn.functional.softmax(energy, 3)


def through_softmax(y, g):
    slope = y - y * y
    return slope * g  # first wrong


def attention_backward(q, k, v, grad_out, mask=None):
    y = forward_weights(q, k, mask)
    g = grad_out @ v.transpose(3, 2)
    e = through_softmax(y, g) * q.shape[3] ** -0.5
    return e @ k, e.transpose(3, 2) @ q, y.transpose(3, 2) @ grad_out
