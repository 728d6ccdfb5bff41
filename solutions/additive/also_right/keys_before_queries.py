"""Compute the scores as [B, Lk, Lq], with the softmax along dim 1, and transpose at the end.

FLOPs and memory are those of the reference. Both results are transposed views, so a view that joins
their dims fails until they are made contiguous.
"""

import torch
from torch import nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        sizes = [(hidden_dim, 1), (key_dim, hidden_dim), (query_dim, hidden_dim)]
        self.layers = nn.ModuleList([nn.Linear(*size, bias=False) for size in sizes])

    def forward(self, query, keys, values, mask=None):
        last, left, right = self.layers
        pairs = left(keys).unsqueeze(2) + right(query).unsqueeze(1)  # [B, Lk, Lq, hidden_dim]
        scores = last(torch.tanh(pairs)).flatten(2)  # [B, Lk, Lq]
        if mask is not None:
            scores = scores.where(mask.mT, scores.new_tensor(float("-inf")))
        weights = scores.softmax(dim=1)
        out = (values.mT @ weights).mT
        return out, weights.mT
