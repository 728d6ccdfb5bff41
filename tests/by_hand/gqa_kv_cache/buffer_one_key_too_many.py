# mistakes: one-key-too-many
"""A triangle registered once and sliced, a table that says which head a query head reads, softmax by hand."""

import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False, block_size=400):
        super().__init__()
        assert d_model % num_heads == 0
        assert num_heads % num_kv_heads == 0
        self.hs = d_model // num_heads
        self.c_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_kv = nn.Linear(d_model, 2 * num_kv_heads * self.hs, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        self.register_buffer("lookup", torch.arange(num_heads).div(num_heads // num_kv_heads, rounding_mode="floor"), persistent=False)
        self.register_buffer("triangle", torch.ones(block_size, block_size).tril(), persistent=False)

    def forward(self, x, past_kv=None, use_cache=False):
        B, T, C = x.size()
        q = self.c_q(x).view(B, T, -1, self.hs).transpose(1, 2)
        k, v = self.to_kv(x).view(B, T, 2, -1, self.hs).permute(2, 0, 3, 1, 4).unbind()
        P = 0
        if past_kv is not None:
            P = past_kv[0].size(2)
            k = torch.cat([past_kv[0], k], 2)
            v = torch.cat([past_kv[1], v], 2)
        wide_k = k.index_select(1, self.lookup)
        wide_v = v.index_select(1, self.lookup)
        att = q @ wide_k.transpose(2, 3) * self.hs**-0.5
        att = att.masked_fill(self.triangle[P + 1 : P + T + 1, : P + T] == 0, float("-inf"))  # first wrong
        att = (att - att.amax(3, keepdim=True)).exp()
        y = (att @ wide_v) / att.sum(3, keepdim=True)
        y = self.c_proj(y.transpose(1, 2).reshape(B, T, C))
        return (y, (k, v)) if use_cache else y
