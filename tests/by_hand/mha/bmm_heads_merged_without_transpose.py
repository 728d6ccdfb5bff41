# mistakes: heads-merged-without-transpose
"""Heads in the batch for bmm, every step on a line of its own, the mask through torch.where."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.p = dropout
        self.q_proj = nn.Linear(d_model, d_model, bias)
        self.k_proj = nn.Linear(d_model, d_model, bias)
        self.v_proj = nn.Linear(d_model, d_model, bias)
        self.o_proj = nn.Linear(d_model, d_model, bias)

    def fold(self, t):
        n, length = t.size(0), t.size(1)
        t = t.view(n, length, self.num_heads, self.d_k)
        t = t.permute(0, 2, 1, 3)
        return t.reshape(n * self.num_heads, length, self.d_k)

    def forward(self, query, key, value, mask=None, return_weights=False):
        n = query.size(0)
        tgt = query.size(1)
        src = key.size(1)
        q = self.fold(self.q_proj(query))
        k = self.fold(self.k_proj(key))
        v = self.fold(self.v_proj(value))

        energy = torch.bmm(q, k.permute(0, 2, 1))
        energy = energy / self.d_k**0.5
        energy = energy.view(n, self.num_heads, tgt, src)
        if mask is not None:
            energy = torch.where(mask, energy, float("-inf"))
        attention = F.softmax(energy, dim=-1)
        dropped = F.dropout(attention, p=self.p, training=self.training)

        context = torch.bmm(dropped.flatten(0, 1), v)
        context = context.reshape(n, tgt, self.d_model)  # first wrong
        context = self.o_proj(context)
        if return_weights:
            return context, attention
        return context
