# mistakes: cap-not-divided
"""A helper for the cap, another for the mask."""

import math

import torch


def squash(x, limit):
    return limit * torch.tanh(x)  # first wrong


def hide(x, allowed):
    return x if allowed is None else x.masked_fill(allowed == 0, float("-inf"))


def softcap_attention(q, k, v, cap, mask=None):
    energy = torch.matmul(q, k.swapaxes(2, 3)) * (1 / math.sqrt(q.shape[3]))
    energy = squash(energy, cap)
    return torch.matmul(torch.softmax(hide(energy, mask), 3), v)
