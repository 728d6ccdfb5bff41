"""Join heads and positions on one axis, so that each batch item needs a single product with its k.

k and v are not copied for the heads, and the output needs no transpose. But a mask must be expanded
over the heads and reordered, which makes a bool tensor of the size of the scores.
"""

import math

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model}, num_heads={num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.kv_proj = nn.Linear(d_model, 2 * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        q = self.q_proj(x).reshape(b, n * self.num_heads, self.head_dim) / math.sqrt(self.head_dim)
        k, v = self.kv_proj(x).chunk(2, dim=-1)
        scores = torch.bmm(q, k.transpose(1, 2))
        if mask is not None:
            allowed = mask.expand(b, self.num_heads, n, n).transpose(1, 2).reshape(b, n * self.num_heads, n)
            scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        weights = self.dropout(torch.softmax(scores, dim=2))
        return self.o_proj(torch.bmm(weights, v).view(b, n, m))
