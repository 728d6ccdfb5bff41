"""Compute the scores in a separate module, and write tanh(z) as 2 * sigmoid(2 * z) - 1.

The sigmoid does not overflow, but its steps make several tensors of B * Lq * Lk * hidden_dim
numbers, while torch.tanh makes one. Close to 0 the subtraction loses accuracy.
"""

import torch
from torch import Tensor, nn


class Scorer(nn.Module):
    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__()
        self.to_q = nn.Linear(query_dim, hidden_dim, bias=False)
        self.to_k = nn.Linear(key_dim, hidden_dim, bias=False)
        self.score = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        hidden = 2 * torch.sigmoid(2 * (self.to_q(query).unsqueeze(-2) + self.to_k(keys).unsqueeze(-3))) - 1
        return (hidden @ self.score.weight.mT).flatten(-2)


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__()
        self.scorer = Scorer(query_dim, key_dim, hidden_dim)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        scores = self.scorer(query, keys)
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -torch.inf)
        weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
        return torch.matmul(weights, values), weights
