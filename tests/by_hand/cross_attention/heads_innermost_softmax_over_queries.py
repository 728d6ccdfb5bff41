# mistakes: softmax-over-queries
"""Scores [B, Lq, Lk, H], so that nothing is ever transposed; keys and values from one layer."""

import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("heads of unequal size")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.kv_proj = nn.Linear(memory_dim or d_model, 2 * d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory, memory_mask=None):
        B, Lq, M = x.shape
        Lk = memory.shape[1]
        D = M // self.num_heads
        q = self.q_proj(x).view(B, Lq, self.num_heads, D)
        k, v = self.kv_proj(memory).view(B, Lk, 2, self.num_heads, D).unbind(2)
        att = torch.einsum("bqhd,bkhd->bqkh", q / D**0.5, k)
        if memory_mask is not None:
            att = att.masked_fill(memory_mask[:, None, :, None] == 0, float("-inf"))
        att = F.softmax(att.float() if att.dtype == torch.bfloat16 else att, dim=1)  # first wrong
        y = torch.einsum("bqkh,bkhd->bqhd", att.to(v.dtype), v)
        return self.o_proj(y.reshape(B, Lq, M))
