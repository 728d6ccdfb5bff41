# mistakes: keys-at-their-index
"""The keys are turned by the places 0 .. L-1, whatever position_ids says: they are not handed on to the helper."""

import math
import torch
import torch.nn as nn


def build_tables(dim, max_len, base):
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
    t = torch.arange(max_len).float()
    freqs = torch.outer(t, inv_freq)
    emb = torch.cat((freqs, freqs), dim=-1)
    return emb.cos(), emb.sin()


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary(x, cos, sin, position_ids=None):
    """x [B, H, L, D]"""
    if position_ids is None:
        cos, sin = cos[: x.size(2)], sin[: x.size(2)]
    else:
        cos, sin = cos[position_ids].unsqueeze(1), sin[position_ids].unsqueeze(1)
    xf = x.float()
    return (xf * cos + rotate_half(xf) * sin).type_as(x)


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.table_args = (self.head_dim, max_seq_len, rope_base)

    def forward(self, x, mask=None, position_ids=None):
        B, L, M = x.shape
        q, k, v = self.qkv_proj(x).chunk(3, dim=-1)
        q = q.view(B, L, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.view(B, L, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.view(B, L, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = (t.to(x.device) for t in build_tables(*self.table_args))
        q = apply_rotary(q, cos, sin, position_ids)
        k = apply_rotary(k, cos, sin)  # first wrong
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = self.dropout(torch.softmax(scores, dim=-1))
        out = torch.matmul(attn, v).transpose(1, 2).contiguous().view(B, L, M)
        return self.o_proj(out)
