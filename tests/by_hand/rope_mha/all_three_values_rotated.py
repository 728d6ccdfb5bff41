# mistakes: values-rotated
"""A module turns heads in the layout [B, L, parts, H, D], one call for all that has to be turned; softmax by hand."""

import math

import torch
from torch import nn


class Rotary(nn.Module):
    def __init__(self, dim, rows, base):
        super().__init__()
        rate = torch.tensor([1.0 / base ** (2 * i / dim) for i in range(dim // 2)])
        angle = torch.arange(rows).unsqueeze(1) * rate
        self.register_buffer("table", torch.stack((angle.cos(), angle.sin()), dim=1), persistent=False)  # [T, 2, dim / 2]

    def forward(self, t, where):
        c, s = self.table[where][..., None, None, :, :].unbind(-2)
        a, b = t.chunk(2, dim=-1)
        return torch.cat((a * c - b * s, a * s + b * c), dim=-1)


def stable_softmax(s):
    e = (s - s.max(dim=-1, keepdim=True).values).exp()
    return e / e.sum(dim=-1, keepdim=True)


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("bad sizes")
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.in_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.rotary = Rotary(self.head_dim, max_seq_len, rope_base)
        self.attn_drop = nn.Dropout(dropout)

    def forward(self, x, mask=None, position_ids=None):
        batch, length, _ = x.shape
        if position_ids is None:
            position_ids = torch.arange(length, device=x.device).expand(batch, length)
        parts = self.in_proj(x).view(batch, length, 3, self.num_heads, self.head_dim)
        parts = self.rotary(parts, position_ids)  # first wrong
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        logits = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(self.head_dim)
        if mask is not None:
            logits = logits.masked_fill(mask.logical_not(), torch.finfo(logits.dtype).min)
        probs = self.attn_drop(stable_softmax(logits))
        return self.out_proj(torch.einsum("bhij,bhjd->bihd", probs, v).flatten(start_dim=2))
