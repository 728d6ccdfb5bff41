# mistakes: dropout-shared-by-heads
"""All queries of a sequence in one long axis; the noise is drawn before it is needed."""

import math

import torch
import torch.nn as nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        if self.num_heads * self.head_dim != d_model:
            raise ValueError("heads of unequal width")
        self.qkv = nn.Linear(d_model, d_model + 2 * self.head_dim, bias=bias)
        self.dense = nn.Linear(d_model, d_model, bias=bias)
        self.noise = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        h, d = self.num_heads, self.head_dim
        noise = self.noise(x.new_ones(b, 1, n, n))  # first wrong
        q, k, v = self.qkv(x).split([m, d, d], dim=2)
        rows = q.reshape(b, n, h, d).transpose(1, 2).reshape(b, h * n, d)
        s = torch.bmm(rows, k.transpose(1, 2)).view(b, h, n, n)
        s = s / math.sqrt(d)
        if mask is not None:
            s = s.masked_fill(~mask, -math.inf)
        s = s - s.amax(dim=-1, keepdim=True).detach()
        w = s.exp()
        w = w / w.sum(dim=-1, keepdim=True)
        w = w * noise
        heads = torch.bmm(w.reshape(b, h * n, n), v).view(b, h, n, d)
        return self.dense(heads.transpose(1, 2).reshape(b, n, m))
