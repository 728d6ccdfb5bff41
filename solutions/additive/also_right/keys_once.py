"""Split the module into a memory of projected keys and an energy function, and work in place.

A decoder can call the memory once and the energy at each step. The in-place tanh saves a tensor of
B * Lq * Lk * hidden_dim numbers, but log_softmax and exp make one more tensor of scores than
torch.softmax.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Attended(NamedTuple):
    context: Tensor
    alignment: Tensor


class Memory(nn.Module):
    def __init__(self, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(key_dim, hidden_dim, bias=False)

    def forward(self, keys: Tensor) -> Tensor:
        return self.key(keys).unsqueeze(-3)


class Energy(nn.Module):
    def __init__(self, query_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_dim, hidden_dim, bias=False)
        self.v = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query: Tensor, memory: Tensor) -> Tensor:
        return self.v(self.query(query).unsqueeze(-2).add(memory).tanh_()).squeeze(-1)


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.memory = Memory(key_dim, hidden_dim)
        self.energy = Energy(query_dim, hidden_dim)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Attended:
        energy = self.energy(query, self.memory(keys))
        if mask is not None:
            energy.masked_fill_(~mask, torch.finfo(energy.dtype).min)
        alignment = energy.log_softmax(dim=-1).exp()
        return Attended(alignment @ values, alignment)
