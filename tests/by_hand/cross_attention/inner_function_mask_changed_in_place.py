# mistakes: mask-changed-in-place
"""A nested function for the heads; short lines."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads must divide d_model")
        inner = memory_dim if memory_dim is not None else d_model
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(inner, d_model, bias=bias)
        self.v_proj = nn.Linear(inner, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory, memory_mask=None):
        def heads(t):
            t = t.reshape(t.shape[0], t.shape[1], self.num_heads, -1)
            return t.movedim(-2, -3)

        query = heads(self.q_proj(x))
        key = heads(self.k_proj(memory))
        value = heads(self.v_proj(memory))
        key = key.transpose(-1, -2)
        width = query.shape[-1]
        energy = torch.matmul(query, key)
        energy = energy / width**0.5
        if memory_mask is not None:
            padding = memory_mask.logical_not_()  # first wrong
            padding = padding.unsqueeze(1).unsqueeze(1)
            energy = energy.masked_fill(padding, float("-inf"))
        attention = energy.log_softmax(dim=-1).exp()
        context = torch.matmul(attention, value)
        context = context.movedim(-3, -2)
        context = context.reshape(x.shape)
        return self.o_proj(context)
