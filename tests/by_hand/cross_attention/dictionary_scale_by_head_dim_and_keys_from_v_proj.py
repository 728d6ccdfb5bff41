# mistakes: scale-by-head-dim, keys-from-v-proj
"""Layers in a dictionary and a helper that takes their names; q is scaled and not the scores."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model=} is no multiple of {num_heads=}")
        widths = dict.fromkeys(("q", "o"), d_model) | dict.fromkeys(("k", "v"), memory_dim or d_model)
        self.proj = nn.ModuleDict({name: nn.Linear(width, d_model, bias=bias) for name, width in widths.items()})
        self.head_dim = d_model // num_heads

    def heads(self, name, tokens):
        return self.proj[name](tokens).unflatten(2, (-1, self.head_dim)).transpose(1, 2)

    def forward(self, x, memory, memory_mask=None):
        q = self.heads("q", x)
        q = q * self.head_dim**-1  # first wrong
        k = self.heads("v", memory)  # also wrong
        v = self.heads("v", memory)
        logits = torch.einsum("bhqd,bhkd->bhqk", q, k)
        if memory_mask is not None:
            bias = torch.zeros_like(memory_mask, dtype=logits.dtype).masked_fill(~memory_mask, torch.finfo(logits.dtype).min)
            logits = logits + bias[:, None, None, :]
        mixed = torch.einsum("bhqk,bhkd->bqhd", logits.softmax(-1), v)
        return self.proj["o"](mixed.flatten(-2))
