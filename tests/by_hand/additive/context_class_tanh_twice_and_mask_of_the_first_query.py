# mistakes: tanh-twice, mask-of-the-first-query
"""Layers in a ModuleDict; softmax through logsumexp; results as a NamedTuple."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Context(NamedTuple):
    out: Tensor
    weights: Tensor


def linear(wide: int, narrow: int) -> nn.Linear:
    return nn.Linear(wide, narrow, bias=False)


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__()
        self.nets = nn.ModuleDict()
        self.nets["of_query"] = linear(query_dim, hidden_dim)
        self.nets["of_keys"] = linear(key_dim, hidden_dim)
        self.nets["of_pairs"] = linear(hidden_dim, 1)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Context:
        a = self.nets["of_query"](query).tanh()  # first wrong
        b = self.nets["of_keys"](keys).tanh()
        mixed = torch.tanh(a.unsqueeze(2) + b.unsqueeze(1))
        e = self.nets["of_pairs"](mixed).flatten(2)
        if mask is not None:
            padding = ~mask[:, 0]  # [B, Lk]  # also wrong
            e = e.masked_fill(padding[:, None], -torch.inf)
        w = (e - e.logsumexp(-1, keepdim=True)).exp()
        return Context(out=torch.bmm(w, values), weights=w)
