# mistakes: keys-tiled, heads-merged-without-transpose
"""Heads in the batch for baddbmm, the softmax from its parts, dropout as a multiplication."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("heads of different sizes")
        if num_heads % num_kv_heads != 0:
            raise ValueError("groups of different sizes")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.d_head = d_model // num_heads
        self.query = nn.Linear(d_model, d_model, bias)
        self.key = nn.Linear(d_model, num_kv_heads * self.d_head, bias)
        self.value = nn.Linear(d_model, num_kv_heads * self.d_head, bias)
        self.projection = nn.Linear(d_model, d_model, bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, t, c = x.size()
        h, d = self.num_heads, self.d_head
        times = h // self.num_kv_heads

        q = self.query(x)
        k = self.key(x)
        v = self.value(x)
        k = torch.cat([k] * times, dim=-1)  # first wrong
        v = v.view(b, t, self.num_kv_heads, d)
        v = v.repeat_interleave(times, dim=2)

        q = q.view(b, t, h, d).transpose(1, 2).reshape(b * h, t, d)
        k = k.view(b, t, h, d).permute(0, 2, 3, 1).reshape(b * h, d, t)
        v = v.transpose(1, 2).reshape(b * h, t, d)

        bias = x.new_zeros(b, h, t, t)
        if mask is not None:
            bias = bias.masked_fill(~mask, torch.finfo(x.dtype).min)
        att = torch.baddbmm(bias.view(b * h, t, t), q, k, alpha=d**-0.5)
        att = att - att.amax(dim=-1, keepdim=True)
        att = torch.exp(att)
        att = att / att.sum(dim=-1, keepdim=True)
        kept = self.dropout(torch.ones_like(att))
        y = torch.bmm(att * kept, v)
        y = y.reshape(b, t, c)  # also wrong
        return self.projection(y)
