# mistakes: softmax-over-queries
"""Scores have the keys before the queries, [b, h, j, i]; heads are never moved before the tokens; all einsum."""

import torch
import torch.nn as nn
from torch import einsum


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        self.heads, rest = num_heads, d_model % num_heads
        if rest != 0:
            raise ValueError(f"{d_model} = {num_heads} * {d_model // num_heads} + {rest}")
        self.to_qkv = nn.Linear(d_model, d_model * 3, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.base = rope_base

    def forward(self, x, mask=None, position_ids=None):
        b, n, m = x.shape
        h, d = self.heads, m // self.heads
        if position_ids is None:
            position_ids = torch.arange(n, device=x.device).expand(b, n)
        q, k, v = self.to_qkv(x).view(b, n, 3, h, d).unbind(2)

        power = torch.arange(d // 2, device=x.device, dtype=torch.float32) / (d // 2)
        angle = position_ids[:, :, None, None] / self.base**power
        angle = torch.cat((angle, angle), dim=-1)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        sign = torch.ones(d, dtype=x.dtype, device=x.device)
        sign[: d // 2] = -1
        q = q * cos + q.roll(d // 2, -1) * sign * sin
        k = k * cos + k.roll(d // 2, -1) * sign * sin

        sim = einsum("bjhd,bihd->bhji", k, q) * d**-0.5
        if mask is not None:
            sim = sim.masked_fill(~mask.transpose(-1, -2), -torch.inf)
        attn = sim.softmax(dim=-1)  # first wrong
        attn = self.dropout(attn.mT.contiguous())
        return self.to_out(einsum("bhij,bjhd->bihd", attn, v).reshape(b, n, m))
