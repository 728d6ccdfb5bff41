# mistakes: loop-over-heads
"""A nested function for one query head, called for each in turn, its parts of the layers' results cut out by slices."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError("num_heads % num_kv_heads")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        queries, keys, values = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        share = self.num_heads // self.num_kv_heads
        if mask is not None:
            mask = mask.expand(batch, self.num_heads, length, length)

        def part(t, number):
            return t[..., number * self.head_dim : (number + 1) * self.head_dim]

        def logits(h):
            return torch.bmm(part(queries, h), part(keys, h // share).transpose(1, 2)) / self.head_dim**0.5

        def weighed(h, weights):
            return torch.bmm(weights, part(values, h // share))

        energies = []
        for h in range(self.num_heads):  # first wrong
            energy = logits(h)
            if mask is not None:
                energy = energy.masked_fill(~mask[:, h], float("-inf"))
            energies.append(energy)
        weights = self.dropout(torch.softmax(torch.stack(energies, dim=1), dim=-1))
        outputs = []
        for h in range(self.num_heads):
            outputs.append(weighed(h, weights[:, h]))
        return self.o_proj(torch.cat(outputs, dim=-1))
