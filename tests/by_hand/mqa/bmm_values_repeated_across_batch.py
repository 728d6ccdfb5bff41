# mistakes: values-repeated-across-batch
"""Heads in the batch for bmm, the one key and the one value copied out to all of them."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be a multiple of num_heads")
        self.H = num_heads
        self.D = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, self.D, bias=bias)
        self.v_proj = nn.Linear(d_model, self.D, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        B, L, M = x.shape
        H, D = self.H, self.D

        q = self.q_proj(x).view(B, L, H, D).transpose(1, 2).reshape(B * H, L, D)
        k = self.k_proj(x).repeat_interleave(H, dim=0)
        v = self.v_proj(x).repeat(H, 1, 1)  # first wrong

        scores = torch.bmm(q, k.transpose(1, 2)) * D**-0.5
        if mask is not None:
            hidden = ~mask.expand(B, H, L, L)
            scores = scores.masked_fill(hidden.reshape(B * H, L, L), float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))

        out = torch.bmm(weights, v)
        out = out.view(B, H, L, D).transpose(1, 2).reshape(B, L, M)
        return self.o_proj(out)
