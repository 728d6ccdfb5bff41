# mistakes: weights-detached
"""Bahdanau's letters, type hints throughout; the alignment is handed out to be plotted."""

from typing import Optional, Tuple

import torch
from torch import Tensor, nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.W_a = nn.Linear(query_dim, hidden_dim, bias=False)
        self.U_a = nn.Linear(key_dim, hidden_dim, bias=False)
        self.v_a = nn.Linear(hidden_dim, 1, bias=False)

    def energies(self, s: Tensor, h: Tensor) -> Tensor:
        inner = torch.tanh(self.W_a(s).unsqueeze(-2) + self.U_a(h).unsqueeze(-3))
        return torch.einsum("bijn,n->bij", inner, self.v_a.weight.squeeze(0))

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        e = self.energies(query, keys)
        if mask is not None:
            e = e.masked_fill(torch.logical_not(mask), float("-inf"))
        alpha = torch.softmax(e.float() if e.dtype == torch.bfloat16 else e, dim=-1).to(e.dtype)
        context = alpha @ values
        alignment = alpha.detach()  # first wrong
        return context, alignment
