# mistakes: slopes-between-not-every-other
"""The recursion of the original code, which forgets its [0::2]."""

import math

import torch


def powers(n):
    start = 2 ** (-(2 ** -(math.log2(n) - 3)))
    return [start * start**i for i in range(n)]


def alibi_slopes(num_heads):
    if math.log2(num_heads).is_integer():
        return torch.tensor(powers(num_heads))
    below = 2 ** math.floor(math.log2(num_heads))
    more = powers(2 * below)[: num_heads - below]
    return torch.tensor(powers(below) + more)  # first wrong


def alibi_attention(q, k, v):
    b, h, n, d = q.shape
    i = torch.arange(n, device=q.device).view(n, 1)
    j = torch.arange(n, device=q.device).view(1, n)
    bias = alibi_slopes(h).to(q.device)[:, None, None] * (j - i)
    bias = bias.masked_fill(j > i, float("-inf"))
    weights = ((q @ k.mT) * d**-0.5 + bias).softmax(dim=-1)
    return weights.to(v.dtype) @ v
