# mistakes: keys-tiled-as-queries
"""All pairs as the rows of [B, Lq * Lk, hidden_dim]; the projections by F.linear, the network in a Sequential."""

import torch
import torch.nn.functional as F
from torch import nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.q_proj = nn.Linear(query_dim, hidden_dim, bias=False)
        self.k_proj = nn.Linear(key_dim, hidden_dim, bias=False)
        self.score_proj = nn.Linear(hidden_dim, 1, bias=False)

    def pairs(self, query, keys):
        n, m = query.size(1), keys.size(1)
        left = F.linear(query, self.q_proj.weight)
        right = F.linear(keys, self.k_proj.weight)
        left = left.repeat(1, m, 1)  # first wrong
        right = right.repeat(1, n, 1)
        return left + right

    def forward(self, query, keys, values, mask=None):
        rows = self.pairs(query, keys).tanh()
        logits = F.linear(rows, self.score_proj.weight).view(query.size(0), query.size(1), keys.size(1))
        if mask is not None:
            logits = logits.masked_fill(mask == False, -torch.inf)  # noqa: E712
        log_weights = F.log_softmax(logits, dim=-1)
        weights = torch.exp(log_weights)
        return torch.einsum("bqk,bkd->bqd", weights, values), weights
