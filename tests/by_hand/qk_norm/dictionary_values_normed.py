# mistakes: values-normed
"""Layers in a dictionary; keys and values are normalised together, because both are short lines."""

import math

import torch
from torch import nn


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if head_dim is None and d_model % num_heads != 0:
            raise ValueError(f"{d_model} % {num_heads}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} % {num_kv_heads}")
        self.dim = d_model // num_heads if head_dim is None else head_dim
        rows = {"q": num_heads * self.dim, "k": num_kv_heads * self.dim, "v": num_kv_heads * self.dim}
        self.layers = nn.ModuleDict({name: nn.Linear(d_model, n, bias=False) for name, n in rows.items()})
        self.layers["o"] = nn.Linear(num_heads * self.dim, d_model, bias=False)
        self.q_norm = nn.RMSNorm(self.dim, eps=eps)
        self.k_norm = nn.RMSNorm(self.dim, eps=eps)

    def heads(self, name, x):
        return self.layers[name](x).unflatten(2, (-1, self.dim)).transpose(1, 2)

    def forward(self, x, mask=None):
        queries = self.q_norm(self.heads("q", x))
        keys = self.k_norm(self.heads("k", x))
        values = self.k_norm(self.heads("v", x))  # first wrong
        share = queries.shape[1] // keys.shape[1]
        keys = keys.repeat_interleave(share, dim=1)
        values = values.repeat_interleave(share, dim=1)
        logits = torch.einsum("bhid,bhjd->bhij", queries, keys) / math.sqrt(self.dim)
        if mask is not None:
            logits = torch.where(mask, logits, -torch.inf)
        mixed = torch.einsum("bhij,bhjd->bihd", logits.softmax(dim=-1), values)
        return self.layers["o"](mixed.flatten(2))
