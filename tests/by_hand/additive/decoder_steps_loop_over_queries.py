# mistakes: loop-over-queries
"""As a decoder goes: the keys are projected once, then one query after the other attends."""

import torch
from torch import nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.query_layer = nn.Linear(query_dim, hidden_dim, bias=False)
        self.key_layer = nn.Linear(key_dim, hidden_dim, bias=False)
        self.energy_layer = nn.Linear(hidden_dim, 1, bias=False)

    def step(self, state, memory, values, allowed):
        """state [B, query_dim], memory [B, Lk, hidden_dim], allowed [B, Lk] -> context [B, Dv], alphas [B, Lk]."""
        hidden = torch.tanh(self.query_layer(state)[:, None] + memory)
        scores = self.energy_layer(hidden)[..., 0]
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -float("inf"))
        alphas = scores.softmax(dim=1)
        return torch.bmm(alphas[:, None], values)[:, 0], alphas

    def forward(self, query, keys, values, mask=None):
        memory = self.key_layer(keys)
        if mask is not None:
            mask = mask.expand(-1, query.shape[1], -1)
        contexts, alphas = [], []
        for t in range(query.shape[1]):  # first wrong
            context, alpha = self.step(query[:, t], memory, values, None if mask is None else mask[:, t])
            contexts.append(context)
            alphas.append(alpha)
        return torch.stack(contexts, dim=1), torch.stack(alphas, dim=1)
