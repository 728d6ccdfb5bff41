# mistakes: heads-merged-without-transpose
"""Three projections, batch and heads folded into one axis for bmm, and viewed back in the end."""

import torch
import torch.nn.functional as F
from torch import nn


def fold(t, heads):
    """[B, L, M] -> [B * H, L, D]"""
    b, n, m = t.size()
    return t.reshape(b, n, heads, m // heads).permute(0, 2, 1, 3).reshape(b * heads, n, m // heads)


def rope(t, cos, sin):
    lo, hi = t.tensor_split(2, dim=-1)
    return t * cos + torch.cat((hi.neg(), lo), dim=-1) * sin


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(d_model, num_heads)
        self.num_heads = num_heads
        self.dropout_p = dropout
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        head_dim = d_model // num_heads
        rates = torch.exp(-torch.tensor(float(rope_base)).log() * torch.arange(0, head_dim, 2) / head_dim)
        angles = torch.einsum("t,r->tr", torch.arange(max_seq_len, dtype=torch.float32), rates)
        angles = angles.tile(2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x, mask=None, position_ids=None):
        B, L, M = x.shape
        H = self.num_heads
        if position_ids is None:
            position_ids = torch.arange(L, device=x.device).repeat(B, 1)
        cos = self.cos[position_ids].repeat_interleave(H, dim=0)
        sin = self.sin[position_ids].repeat_interleave(H, dim=0)
        query = rope(fold(self.q_proj(x), H), cos, sin)
        key = rope(fold(self.k_proj(x), H), cos, sin)
        value = fold(self.v_proj(x), H)

        logits = torch.bmm(query, key.mT).mul((M // H) ** -0.5)
        if mask is not None:
            hidden = ~mask.expand(B, H, L, L).reshape(B * H, L, L)
            logits = logits.masked_fill(hidden, float("-inf"))
        weights = F.dropout(F.softmax(logits, dim=-1), p=self.dropout_p, training=self.training)

        context = torch.bmm(weights, value)
        context = context.view(B, H, L, M // H)
        context = context.reshape(B, L, M)  # first wrong
        return self.o_proj(context)
