# mistakes: mask-taken-for-lengths
"""Heads folded into the batch, the padding as the bias of a baddbmm."""

import math

import torch
from torch import nn


def fold(t, heads):
    """[B, L, M] -> [B * H, L, D]"""
    b, n, m = t.shape
    return t.view(b, n, heads, m // heads).transpose(1, 2).reshape(b * heads, n, m // heads)


def unfold(t, heads):
    """[B * H, L, D] -> [B, L, M]"""
    return t.unflatten(0, (-1, heads)).transpose(1, 2).flatten(2)


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        source = d_model if memory_dim is None else memory_dim
        self.heads = num_heads
        self.alpha = (d_model // num_heads) ** -0.5
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_k = nn.Linear(source, d_model, bias=bias)
        self.to_v = nn.Linear(source, d_model, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory, memory_mask=None):
        b, tokens = memory.shape[:2]
        q = fold(self.to_q(x), self.heads)
        k = fold(self.to_k(memory), self.heads)
        v = fold(self.to_v(memory), self.heads)
        bias = torch.zeros(b, 1, tokens, dtype=q.dtype, device=q.device)
        if memory_mask is not None:
            lengths = memory_mask.sum(dim=1)
            beyond = torch.arange(tokens, device=x.device).expand(b, tokens) >= lengths.unsqueeze(1)  # first wrong
            bias = bias.masked_fill(beyond.unsqueeze(1), -math.inf)
        bias = bias.repeat_interleave(self.heads, dim=0)
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=self.alpha)
        return self.to_out(unfold(torch.bmm(torch.softmax(scores, dim=2), v), self.heads))
