# mistakes: bias-sign
"""Nested functions; the penalty is a positive number and is added."""

import math

import torch


def alibi_slopes(num_heads):
    closest = 1 << (num_heads.bit_length() - 1)

    def exponent(i):
        if i < closest:
            return 8 * (i + 1) / closest
        return 4 * (2 * (i - closest) + 1) / closest

    return torch.tensor([2.0 ** -exponent(i) for i in range(num_heads)])


def alibi_attention(q, k, v):
    def penalty(heads, length):
        at = torch.arange(length, device=q.device)
        return torch.einsum("h,ij->hij", alibi_slopes(heads), (at[:, None] - at).float())

    heads, length, width = q.shape[1:]
    raw = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(width)
    raw = raw + penalty(heads, length)  # first wrong
    later = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
    raw = raw.masked_fill(later, torch.finfo(raw.dtype).min)
    return torch.matmul(torch.softmax(raw, 3).type_as(v), v)
