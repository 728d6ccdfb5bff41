"""Fuse q, k, v of self-attention and k, v of cross-attention, and write the products as einsum.

A fused layer is a single larger product, so fewer kernels start. The parts then lie side by side in
one tensor, and the order of its rows (all of q, then k, then v) is part of every checkpoint.
"""

import torch
from torch import nn


def attend(q, k, v, heads, hidden=None):
    q, k, v = (t.unflatten(-1, (heads, -1)) for t in (q, k, v))
    scores = torch.einsum("blhd,bshd->bhls", q * q.shape[-1] ** -0.5, k)
    if hidden is not None:
        scores = torch.where(hidden, torch.finfo(scores.dtype).min, scores)
    weights = scores.softmax(-1, dtype=torch.float32).to(v.dtype)
    return torch.einsum("bhls,bshd->blhd", weights, v).flatten(2)


class SelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads = num_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        position = torch.arange(x.shape[1], device=x.device)
        later = position > position[:, None]
        return self.out_proj(attend(*self.qkv_proj(x).chunk(3, -1), self.heads, later))


class MemoryAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        self.heads = num_heads
        self.to_q = nn.Linear(d_model, d_model)
        self.to_kv = nn.Linear(memory_dim, 2 * d_model)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, hidden):
        k, v = self.to_kv(memory).chunk(2, -1)
        return self.to_out(attend(self.to_q(x), k, v, self.heads, hidden))


class Feed(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)
        self.act = nn.GELU(approximate="tanh")

    def forward(self, x):
        return self.c_proj(self.act(self.c_fc(x)))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide d_model {d_model}")
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.self_attn = SelfAttention(d_model, num_heads)
        self.cross_attn = MemoryAttention(d_model, num_heads, memory_dim)
        self.mlp = Feed(d_model)

    def forward(self, x, memory, memory_mask=None):
        padding = None if memory_mask is None else memory_mask.logical_not()[:, None, None]
        x = x + self.self_attn(self.norm_1(x))
        x = x + self.cross_attn(self.norm_2(x), memory, padding)
        return x + self.mlp(self.norm_3(x))
