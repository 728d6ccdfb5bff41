# mistakes: heads-viewed-without-transpose
"""Batch and heads in one axis, bmm, every step a line."""

import torch
import torch.nn.functional as F
from torch import nn


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model has to be a multiple of num_heads")
        self.n_head = num_heads
        self.n_embd = d_model
        self.p = dropout
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)

    def fold(self, t):
        """[B, L, M] -> [B * H, L, D]"""
        b, n = t.shape[:2]
        return t.reshape(b * self.n_head, n, self.n_embd // self.n_head)  # first wrong

    def unfold(self, t):
        """[B * H, L, D] -> [B, L, M]"""
        t = t.unflatten(0, (-1, self.n_head))
        t = t.transpose(1, 2)
        return t.flatten(2)

    def forward(self, x, mask=None):
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q = self.fold(q)
        k = self.fold(k)
        v = self.fold(v)
        att = torch.bmm(q, k.transpose(1, 2))
        att = att / q.size(2) ** 0.5
        if mask is not None:
            keep = mask.expand(x.size(0), self.n_head, x.size(1), x.size(1))
            keep = keep.flatten(0, 1)
            att = att.masked_fill(~keep, float("-inf"))
        att = F.softmax(att, dim=2)
        att = F.dropout(att, p=self.p, training=self.training)
        y = torch.bmm(att, v)
        return self.c_proj(self.unfold(y))
