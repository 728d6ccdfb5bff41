# mistakes: heads-merged-without-transpose, cross-attention-residual-missing
"""Fused layers, heads that are merged too early, and a residual that got lost."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def softmax_mix(q, k, v, hidden):
    score = torch.einsum("bhid,bhjd->bhij", q * q.size(-1) ** -0.5, k)
    if hidden is not None:
        score = score.masked_fill(hidden, torch.finfo(score.dtype).min)
    return torch.einsum("bhij,bhjd->bhid", score.softmax(dim=-1), v)


class SelfAttention(nn.Module):
    def __init__(self, width, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.in_proj(x).view(b, n, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        ahead = torch.full((n, n), True, device=x.device).triu(1)
        mixed = softmax_mix(q, k, v, ahead)
        return self.out_proj(mixed.reshape(x.shape))  # first wrong


class CrossAttention(nn.Module):
    def __init__(self, width, n_heads, source_width):
        super().__init__()
        self.n_heads = n_heads
        self.to_q = nn.Linear(width, width)
        self.to_kv = nn.Linear(source_width, 2 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x, source, real=None):
        b, s, _ = source.shape
        q = self.to_q(x).view(b, x.shape[1], self.n_heads, -1).transpose(1, 2)
        k, v = self.to_kv(source).view(b, s, 2, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        if real is not None:
            real = ~real.view(b, 1, 1, s)
        mixed = softmax_mix(q, k, v, real)
        return self.out_proj(mixed.reshape(x.shape))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads != 0")
        self.self_attn = SelfAttention(d_model, num_heads)
        self.cross_attn = CrossAttention(d_model, num_heads, memory_dim)
        self.mlp = nn.Sequential()
        self.mlp.add_module("fc", nn.Linear(d_model, 4 * d_model))
        self.mlp.add_module("gelu", nn.GELU())
        self.mlp.add_module("proj", nn.Linear(4 * d_model, d_model))
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory, memory_mask=None):
        x = x + self.self_attn(self.norm_1(x))
        x = self.cross_attn(self.norm_2(x), memory, memory_mask)  # also wrong
        return x + self.mlp(self.norm_3(x))
