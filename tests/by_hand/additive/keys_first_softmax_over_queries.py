# mistakes: softmax-over-queries
"""Scores with the keys before the queries, [B, Lk, Lq], a softmax by hand in a helper; transposed at the end."""

import torch
from torch import nn


def normalise(scores, dim):
    scores = scores - scores.amax(dim=dim, keepdim=True)
    exps = scores.exp()
    return exps / exps.sum(dim=dim, keepdim=True)


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.W_q = nn.Linear(query_dim, hidden_dim, bias=False)
        self.W_k = nn.Linear(key_dim, hidden_dim, bias=False)
        self.w_v = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query, keys, values, mask=None):
        wk = self.W_k(keys).unsqueeze(2)
        wq = self.W_q(query).unsqueeze(1)
        scores = self.w_v(torch.tanh(wk + wq)).squeeze(3)
        if mask is not None:
            scores = torch.where(mask.transpose(1, 2), scores, float("-inf"))
        alignment = normalise(scores, dim=-1)  # first wrong
        out = torch.einsum("bkq,bkd->bqd", alignment, values)
        return out, alignment.transpose(1, 2)
