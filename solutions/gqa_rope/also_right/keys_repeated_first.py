"""Repeat the heads before the rotation, and put batch and heads on one axis for baddbmm.

The rotation of the keys costs H / Hkv times as much as in the reference. A bias of [B * H, L, L] is
made even without a mask, and exp after log_softmax is one more pass over the scores.
"""

import math

import torch
from torch import nn


class Rope(nn.Module):
    def __init__(self, dim, rows, base):
        super().__init__()
        rate = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(base) / dim))
        angle = torch.arange(rows).float()[:, None] * rate.repeat(2)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, t, position_ids):
        half = t.shape[-1] // 2
        cos = torch.index_select(self.cos, 0, position_ids.flatten()).view(*position_ids.shape, 1, -1)
        sin = torch.index_select(self.sin, 0, position_ids.flatten()).view(*position_ids.shape, 1, -1)
        quarter = torch.roll(t, half, dims=-1) * torch.cat((-t.new_ones(half), t.new_ones(half)))
        return t * cos + quarter * sin


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        if d_model % num_heads != 0:
            raise ValueError("d_model must be a multiple of num_heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError("num_heads must be a multiple of num_kv_heads")
        super().__init__()
        self.heads, self.kv_heads, self.dim = num_heads, num_kv_heads, d_model // num_heads
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * num_kv_heads * self.dim, bias=False)
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model, bias=False))
        self.rope = Rope(self.dim, max_seq_len, rope_base)

    def forward(self, x, mask=None, position_ids=None):
        b, n, _ = x.shape
        if position_ids is None:
            position_ids = torch.arange(n, device=x.device).expand(b, n)
        q = self.to_q(x).reshape(b, n, self.heads, self.dim)
        k, v = self.to_kv(x).reshape(b, n, 2, self.kv_heads, self.dim).repeat_interleave(self.heads // self.kv_heads, dim=3).unbind(2)
        q, k = self.rope(q, position_ids), self.rope(k, position_ids)
        q, k, v = (t.permute(0, 2, 1, 3).flatten(0, 1) for t in (q, k, v))
        bias = x.new_zeros(b * self.heads, n, n)
        if mask is not None:
            bias = bias.masked_fill(~mask.broadcast_to(b, self.heads, n, n).flatten(0, 1), -math.inf)
        s = torch.baddbmm(bias, q, k.transpose(1, 2), beta=1.0, alpha=self.dim**-0.5)
        o = torch.bmm(torch.exp(torch.log_softmax(s, dim=-1)), v)
        return self.to_out(o.unflatten(0, (b, self.heads)).permute(0, 2, 1, 3).flatten(2))
