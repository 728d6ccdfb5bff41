"""Additive attention: a network with one hidden layer scores a query with a key.

    score(q, k) = v^T tanh(W_q q + W_k k)    out = softmax(scores) V

tanh keeps every hidden unit within ±1, so the scores need no scale. W_k k can be computed once for
all decoding steps.
Bahdanau, Cho, Bengio 2014, "Neural Machine Translation by Jointly Learning to Align and Translate".
"""

import torch
from torch import nn


class AdditiveAttention(nn.Module):
    """B batch, Lq queries, Lk keys, Dv width of the values."""

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__()
        self.q_proj = nn.Linear(query_dim, hidden_dim, bias=False)
        self.k_proj = nn.Linear(key_dim, hidden_dim, bias=False)
        self.score_proj = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query, keys, values, mask=None):
        q = self.q_proj(query)  # [B, Lq, hidden_dim]
        k = self.k_proj(keys)  # [B, Lk, hidden_dim]

        # the axes of length 1 broadcast, so that every query is added to every key
        q = q.unsqueeze(2)  # [B, Lq, 1, hidden_dim]
        k = k.unsqueeze(1)  # [B, 1, Lk, hidden_dim]
        hidden = q + k  # [B, Lq, Lk, hidden_dim]
        # without tanh, or with tanh of each part, q would add the same number to all scores of
        # its row, which changes no weight
        hidden = torch.tanh(hidden)

        scores = self.score_proj(hidden)  # [B, Lq, Lk, 1]
        # squeeze(-1), not squeeze(): B, Lq and Lk may also be 1
        scores = scores.squeeze(-1)  # [B, Lq, Lk]
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, Lq, Lk]

        out = weights @ values  # [B, Lq, Dv]
        return out, weights
