# mistakes: padded-keys-counted
"""The last `window` keys of each query, read from zero-padded keys with an index table."""

import math

import torch


def sliding_window_attention(q, k, v, window):
    batch, heads, length, dim = k.shape
    zeros = k.new_zeros(batch, heads, window - 1, dim)
    table = torch.arange(window).unsqueeze(0) + torch.arange(length).unsqueeze(1)
    near_k = torch.cat((zeros, k), dim=2)[:, :, table]
    near_v = torch.cat((zeros.to(v.dtype), v), dim=2)[:, :, table]
    scores = (q.unsqueeze(3) * near_k).sum(-1) / math.sqrt(dim)  # first wrong
    weights = torch.softmax(scores, -1)
    return (weights.unsqueeze(-1) * near_v).sum(dim=3)
