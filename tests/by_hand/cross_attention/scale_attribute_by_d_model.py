# mistakes: scale-by-d-model
"""The scale is made from d_model instead of the head dim."""

import torch
from torch import einsum, nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} features, {num_heads} heads?")
        self.h = num_heads
        self.d = d_model // num_heads
        self.scale = d_model**-0.5  # first wrong
        context_dim = memory_dim or d_model
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_k = nn.Linear(context_dim, d_model, bias=bias)
        self.to_v = nn.Linear(context_dim, d_model, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory, memory_mask=None):
        h, d = self.h, self.d
        q, k, v = self.to_q(x), self.to_k(memory), self.to_v(memory)
        q, k, v = (t.unflatten(-1, (h, d)) for t in (q, k, v))

        sim = einsum("b i h d, b j h d -> b h i j", q, k) * self.scale

        if memory_mask is not None:
            lowest = torch.finfo(sim.dtype).min
            sim = torch.where(memory_mask[:, None, None], sim, lowest)

        attn = sim.softmax(dim=-1)
        out = einsum("b h i j, b j h d -> b i h d", attn, v)
        return self.to_out(out.flatten(-2))
