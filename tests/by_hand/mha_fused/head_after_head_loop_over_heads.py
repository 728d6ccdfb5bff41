# mistakes: loop-over-heads
"""One head as a method, as the formula has it; the heads are put side by side in the end."""

import math

import torch
from torch import nn


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model} and num_heads={num_heads} do not fit")
        self.num_heads = num_heads
        self.scale = 1 / math.sqrt(d_model // num_heads)
        self.qkv_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def head(self, q, k, v, hidden):
        scores = self.scale * torch.bmm(q, k.transpose(1, 2))
        if hidden is not None:
            scores = scores.masked_fill(hidden, -math.inf)
        return torch.bmm(self.dropout(torch.softmax(scores, dim=-1)), v)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        q, k, v = (part.chunk(self.num_heads, dim=-1) for part in self.qkv_proj(x).chunk(3, dim=-1))
        hidden = [None] * self.num_heads
        if mask is not None:
            hidden = (~mask).expand(batch, self.num_heads, length, length).unbind(1)
        heads = [self.head(*parts) for parts in zip(q, k, v, hidden)]  # first wrong
        return self.o_proj(torch.cat(heads, dim=-1))
