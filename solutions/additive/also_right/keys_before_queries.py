"""Scores as [B, Lk, Lq], the softmax along dim 1, everything turned at the end; unnamed layers."""

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
