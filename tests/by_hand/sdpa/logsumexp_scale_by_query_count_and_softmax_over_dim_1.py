# mistakes: scale-by-query-count, softmax-over-dim-1
"""Sizes unpacked from the shape, weights as exp(score - logsumexp), the second product by einsum."""

import math

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    *_, rows, width = q.shape
    energies = torch.einsum("...qd,...kd->...qk", q, k).mul(1 / math.sqrt(rows))  # first wrong
    if mask is not None:
        energies = energies.masked_fill(~mask, -math.inf)
    shares = torch.exp(energies - torch.logsumexp(energies, dim=1, keepdim=True))  # also wrong
    return torch.einsum("...qk,...kd->...qd", shares, v)
