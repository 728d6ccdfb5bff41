# mistakes: softmax-over-queries
"""One small function for each step: compare, hide, normalise, mix."""

import math

import torch


def compare(queries, keys):
    width = queries.shape[-1]
    return torch.matmul(queries, torch.swapaxes(keys, -2, -1)) / math.sqrt(width)


def hide(energy, allowed):
    if allowed is None:
        return energy
    return torch.where(allowed, energy, float("-inf"))


def normalise(energy):
    top = energy.amax(dim=-2, keepdim=True)  # first wrong
    exponentials = torch.exp(energy - top)
    total = exponentials.sum(dim=-2, keepdim=True)
    return exponentials / total


def mix(shares, values):
    return torch.matmul(shares, values)


def scaled_dot_product_attention(q, k, v, mask=None):
    return mix(normalise(hide(compare(q, k), mask)), v)
