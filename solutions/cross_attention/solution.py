"""Cross-attention: the queries come from one sequence, the keys and values from another.

    head_h = softmax(q_h k_h^T / sqrt(D) + mask) v_h
    with q = x W_q, k = memory W_k, v = memory W_v

The two sequences may differ in length and in width. Padding of the memory gets no weight.
Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3.
"""

import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    """B batch, Lq length of x, Lk length of memory, M d_model, H heads, D = M / H head dim."""

    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        if memory_dim is None:
            memory_dim = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(memory_dim, d_model, bias=bias)
        self.v_proj = nn.Linear(memory_dim, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory, memory_mask=None):
        batch, q_len, d_model = x.shape
        k_len = memory.shape[1]

        # keys and values have M features for any width of memory
        q = self.q_proj(x).view(batch, q_len, self.num_heads, self.head_dim)
        k = self.k_proj(memory).view(batch, k_len, self.num_heads, self.head_dim)
        v = self.v_proj(memory).view(batch, k_len, self.num_heads, self.head_dim)
        q = q.transpose(1, 2)  # [B, H, Lq, D]
        k = k.transpose(1, 2)  # [B, H, Lk, D]
        v = v.transpose(1, 2)  # [B, H, Lk, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, Lq, Lk]
        scores = scores / math.sqrt(self.head_dim)
        if memory_mask is not None:
            # broadcasting aligns from the right: [B, Lk] would be read as [Lq, Lk]
            mask = memory_mask[:, None, None, :]  # [B, 1, 1, Lk]
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, Lq, Lk]

        heads = weights @ v  # [B, H, Lq, D]
        merged = heads.transpose(1, 2).reshape(batch, q_len, d_model)  # [B, Lq, M]
        return self.o_proj(merged)
