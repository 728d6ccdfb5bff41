# mistakes: plain-key-in-the-state
"""A small class holds the two sums and takes one token after the other."""

import torch
from torch import nn


class Memory:
    def __init__(self, values, total):
        self.values, self.total = values, total

    def write(self, feature, key, value):
        self.values = self.values + key.unsqueeze(-1) @ value.unsqueeze(-2)  # first wrong
        self.total = self.total + feature

    def read(self, feature):
        numerator = torch.einsum("bhd,bhdv->bhv", feature, self.values)
        return numerator / torch.einsum("bhd,bhd->bh", feature, self.total).unsqueeze(-1)


def linear_attention(q, k, v, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    if state is not None:
        state = [part.to(wide) for part in state]
    act = nn.ELU()
    if state is None:
        empty = torch.zeros_like(k[:, :, 0])
        memory = Memory(empty.unsqueeze(-1) * v[:, :, 0].unsqueeze(-2), empty)
    else:
        memory = Memory(*state)
    results = []
    for query, key, value in zip(q.unbind(-2), k.unbind(-2), v.unbind(-2), strict=True):
        memory.write(act(key) + 1, key, value)
        results.append(memory.read(act(query) + 1))
    return torch.stack(results, dim=-2).to(dtype), (memory.values, memory.total)
