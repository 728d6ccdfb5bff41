"""Keep the head axis after the token axis, a float64 table as a plain tensor, and a manual softmax.

Casting the module does not round the table, but a GPU needs a new copy of it in every call. The
softmax makes extra tensors of the size of the scores.
"""

import math

import torch
import torch.nn as nn


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.to_qkv = nn.ModuleDict({"qkv": nn.Linear(d_model, 3 * d_model, bias=bias)})
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model, bias=bias), nn.Identity())
        self.p = dropout
        pair = torch.arange(self.head_dim // 2, dtype=torch.float64)
        rate = torch.exp(pair * (-2 * math.log(rope_base) / self.head_dim))
        angle = torch.einsum("t,i->ti", torch.arange(max_seq_len, dtype=torch.float64), rate)
        self.table = torch.stack((angle.cos(), angle.sin()))  # [2, T, d/2]

    def rotate(self, t, cos, sin):
        half = self.head_dim // 2
        a, b = t[..., :half], t[..., half:]
        out = torch.empty_like(t)
        out[..., :half] = a * cos - b * sin
        out[..., half:] = b * cos + a * sin
        return out

    def forward(self, x, mask=None, position_ids=None):
        b, n, _ = x.shape
        table = self.table.to(x.device)
        rows = table[:, None, :n] if position_ids is None else table[:, position_ids]
        cos, sin = rows[..., None, :].to(x.dtype)  # [b or 1, n, 1, d/2] each
        q, k, v = self.to_qkv["qkv"](x).unflatten(-1, (3, self.num_heads, self.head_dim)).unbind(2)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        s = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(self.head_dim)
        if mask is not None:
            s = s.masked_fill(~mask, -math.inf)
        e = torch.exp(s - s.amax(dim=-1, keepdim=True))
        w = e / e.sum(dim=-1, keepdim=True)
        if self.training and self.p:
            w = w * torch.bernoulli(torch.full_like(w, 1 - self.p)) / (1 - self.p)
        return self.to_out(torch.einsum("bhij,bjhd->bihd", w, v).flatten(2))
