# mistakes: tanh-a-side
"""A network of small modules: one for each side, one that scores; the mask as an added bias."""

import torch
from torch import Tensor, nn


class Side(nn.Module):
    def __init__(self, wide: int, hidden: int, axis: int):
        super().__init__()
        self.proj = nn.Linear(wide, hidden, bias=False)
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.proj(x))  # first wrong
        return x.unsqueeze(self.axis)


class Scorer(nn.Module):
    def __init__(self, hidden: int):
        super().__init__()
        self.v = nn.Linear(hidden, 1, bias=False)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.v(left + right).squeeze(-1)


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__()
        self.query_side = Side(query_dim, hidden_dim, axis=2)
        self.key_side = Side(key_dim, hidden_dim, axis=1)
        self.scorer = Scorer(hidden_dim)

    def forward(self, query, keys, values, mask=None):
        scores = self.scorer(self.query_side(query), self.key_side(keys))
        if mask is not None:
            bias = torch.zeros_like(mask, dtype=scores.dtype)
            bias[~mask] = float("-inf")
            scores = scores + bias
        attention = nn.functional.softmax(scores, dim=-1)
        return attention.matmul(values), attention
