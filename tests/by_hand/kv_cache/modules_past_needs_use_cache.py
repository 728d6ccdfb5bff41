# mistakes: past-needs-use-cache
"""A module for the heads and one for the attention; the past is taken out of the arguments first."""

from typing import NamedTuple

import torch
from torch import nn


class Memory(NamedTuple):
    k: torch.Tensor
    v: torch.Tensor

    def __add__(self, new):
        return Memory(torch.cat((self.k, new.k), 2), torch.cat((self.v, new.v), 2))


class SplitHeads(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = heads

    def forward(self, t):
        b, n, m = t.shape
        return t.reshape(b, n, self.heads, m // self.heads).transpose(1, 2)


class CausalAttention(nn.Module):
    def forward(self, q, memory):
        n, total = q.size(-2), memory.k.size(-2)
        s = torch.einsum("...id,...jd->...ij", q, memory.k) / q.size(-1) ** 0.5
        distance = torch.arange(total - n, total, device=q.device)[:, None] - torch.arange(total, device=q.device)
        s = s.masked_fill(distance < 0, float("-inf"))
        return torch.einsum("...ij,...jd->...id", torch.softmax(s, -1), memory.v)


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model {d_model} and num_heads {num_heads} do not go together")
        self.to_q = nn.Sequential(nn.Linear(d_model, d_model, bias), SplitHeads(num_heads))
        self.to_k = nn.Sequential(nn.Linear(d_model, d_model, bias), SplitHeads(num_heads))
        self.to_v = nn.Sequential(nn.Linear(d_model, d_model, bias), SplitHeads(num_heads))
        self.to_out = nn.Sequential(nn.Flatten(2), nn.Linear(d_model, d_model, bias))
        self.attention = CausalAttention()

    def forward(self, x, past_kv=None, use_cache=False):
        past = past_kv if use_cache else None  # first wrong
        memory = Memory(self.to_k(x), self.to_v(x))
        if past is not None:
            memory = Memory(*past) + memory
        out = self.to_out(self.attention(self.to_q(x), memory).transpose(1, 2))
        return (out, memory) if use_cache else out
