# mistakes: queries-viewed-without-transpose
"""Groups in the batch for bmm: the query heads of a group lie below each other as more rows of one matrix."""

import torch
import torch.nn.functional as F
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        for larger, smaller in ((d_model, num_heads), (num_heads, num_kv_heads)):
            if larger % smaller:
                raise ValueError(f"{larger} is not a multiple of {smaller}")
        self.dim = d_model // num_heads
        self.groups = num_kv_heads
        self.per_group = num_heads // num_kv_heads
        self.queries = nn.Linear(d_model, d_model, bias=bias)
        self.keys = nn.Linear(d_model, num_kv_heads * self.dim, bias=bias)
        self.values = nn.Linear(d_model, num_kv_heads * self.dim, bias=bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = dropout

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        blocks = batch * self.groups
        heads = self.groups * self.per_group

        q = self.queries(x)
        q = q.reshape(blocks, self.per_group * length, self.dim)  # first wrong
        k = self.keys(x)
        k = k.view(batch, length, self.groups, self.dim)
        k = k.permute(0, 2, 3, 1).reshape(blocks, self.dim, length)
        v = self.values(x)
        v = v.view(batch, length, self.groups, self.dim)
        v = v.permute(0, 2, 1, 3).reshape(blocks, length, self.dim)

        s = torch.bmm(q, k) * self.dim**-0.5
        s = s.view(batch, heads, length, length)
        if mask is not None:
            s = torch.where(mask, s, -torch.inf)
        p = F.dropout(F.softmax(s, dim=-1), self.dropout, self.training)
        p = p.view(blocks, self.per_group * length, length)

        o = torch.bmm(p, v)
        o = o.view(batch, heads, length, self.dim)
        o = o.permute(0, 2, 1, 3).reshape(batch, length, width)
        return self.output(o)
