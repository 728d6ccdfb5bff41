"""Make each pair of a query and a key one row of a long matrix, and fold the scores back.

Both sides are copied to B * Lq * Lk * hidden_dim numbers before they are added. The reference adds
by broadcasting and makes only the sum.
"""

import math

import torch
from torch import nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.query_layer = nn.Linear(query_dim, hidden_dim, bias=False)
        self.key_layer = nn.Linear(key_dim, hidden_dim, bias=False)
        self.energy = nn.Sequential(nn.Tanh(), nn.Linear(hidden_dim, 1, bias=False), nn.Flatten(0))

    def forward(self, query, keys, values, mask=None):
        b, n = query.size(0), query.size(1)
        m = keys.size(1)
        rows = self.query_layer(query).repeat_interleave(m, dim=1)  # q0 q0 q0 q1 q1 q1
        rows = rows + self.key_layer(keys).repeat(1, n, 1)  # k0 k1 k2 k0 k1 k2
        scores = self.energy(rows).reshape(b, n, m)
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(~mask.expand(b, n, m), -math.inf)
        weights = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
        return torch.matmul(weights, values), weights
