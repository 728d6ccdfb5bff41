# mistakes: scale-by-d-model
"""Heads in the batch for bmm, the scale put on the queries, an additive mask, layers with short names."""

import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("heads must divide d_model")
        self.h = num_heads
        self.d = d_model // num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)
        inv = rope_base ** (-torch.arange(0, self.d, 2).double() / self.d)
        ang = torch.outer(torch.arange(max_seq_len).double(), inv).float()
        self.register_buffer("c", ang.cos(), persistent=False)
        self.register_buffer("s", ang.sin(), persistent=False)

    def to_heads(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.h, self.d).transpose(1, 2)

    def turn(self, t, rows):
        c, s = self.c[rows], self.s[rows]
        if c.dim() == 3:
            c, s = c[:, None], s[:, None]
        a, b = t[..., : self.d // 2], t[..., self.d // 2 :]
        return torch.cat((a * c - b * s, b * c + a * s), -1)

    def forward(self, x, mask=None, position_ids=None):
        b, n, m = x.shape
        rows = torch.arange(n, device=x.device) if position_ids is None else position_ids
        q, k, v = map(self.to_heads, self.qkv(x).split(m, dim=-1))
        q = self.turn(q, rows) * m**-0.5  # first wrong
        k = self.turn(k, rows)
        q, k, v = (t.reshape(b * self.h, n, self.d) for t in (q, k, v))
        att = torch.bmm(q, k.transpose(1, 2))
        if mask is not None:
            add = torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(~mask, float("-inf"))
            att = (att.view(b, self.h, n, n) + add).view(b * self.h, n, n)
        att = self.drop(att.softmax(2))
        y = torch.bmm(att, v).view(b, self.h, n, self.d)
        return self.proj(y.permute(0, 2, 1, 3).reshape(b, n, m))
