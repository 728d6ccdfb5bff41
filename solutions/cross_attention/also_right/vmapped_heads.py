"""Write the attention of a single head of a single batch item, and map it over both axes with vmap.

The function is easy to read, because it has no axes for batch and heads. vmap turns it into batched
products, so the FLOPs are the same, but each call has some overhead in Python.
"""

import math

import torch
from torch import nn


def one_head(q, k, v, bias):
    """q [Lq, D], k, v [Lk, D], bias [Lk]."""
    return torch.softmax(q @ k.T / math.sqrt(q.shape[-1]) + bias, dim=-1) @ v


all_heads = torch.vmap(torch.vmap(one_head, in_dims=(1, 1, 1, None), out_dims=1))


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model < num_heads or d_model % num_heads:
            raise ValueError(f"d_model = {d_model}, num_heads = {num_heads}")
        self.num_heads = num_heads
        source = memory_dim or d_model
        self.attn = nn.ModuleDict({"q": nn.Linear(d_model, d_model, bias), "k": nn.Linear(source, d_model, bias), "v": nn.Linear(source, d_model, bias)})
        self.proj = nn.Linear(d_model, d_model, bias)

    def forward(self, x, memory, memory_mask=None):
        B, Lq, M = x.shape
        Lk = memory.shape[1]
        q = self.attn["q"](x).reshape(B, Lq, self.num_heads, -1)
        k = self.attn["k"](memory).reshape(B, Lk, self.num_heads, -1)
        v = self.attn["v"](memory).reshape(B, Lk, self.num_heads, -1)
        bias = x.new_zeros(B, Lk)
        if memory_mask is not None:
            bias.masked_fill_(~memory_mask, -torch.inf)
        return self.proj(all_heads(q, k, v, bias).reshape(B, Lq, M))
