# mistakes: memory-zeroed-instead
"""Einsum from head to toe; what is padding is seen to before anything is projected."""

import torch
from torch import einsum, nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads in {d_model} features")
        self.split = (num_heads, d_model // num_heads)
        memory_dim = memory_dim or d_model
        self.wq = nn.Linear(d_model, d_model, bias)
        self.wk = nn.Linear(memory_dim, d_model, bias)
        self.wv = nn.Linear(memory_dim, d_model, bias)
        self.wo = nn.Linear(d_model, d_model, bias)

    def forward(self, x, memory, memory_mask=None):
        if memory_mask is not None:
            memory = torch.where(memory_mask.unsqueeze(-1), memory, 0)  # first wrong
        q = self.wq(x).unflatten(2, self.split)
        k = self.wk(memory).unflatten(2, self.split)
        v = self.wv(memory).unflatten(2, self.split)
        sim = einsum("bihd,bjhd->bhij", q, k) * self.split[1] ** -0.5
        attn = sim.softmax(dim=-1)
        out = einsum("bhij,bjhd->bihd", attn, v)
        return self.wo(out.flatten(2))
