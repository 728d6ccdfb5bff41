# mistakes: scale-by-head-dim
"""One layer for everything and as few lines as possible; keys and values get an axis for the copies and broadcast."""

import torch, torch.nn as nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads: raise ValueError((d_model, num_heads, num_kv_heads))
        self.g, self.r, self.d = num_kv_heads, num_heads // num_kv_heads, d_model // num_heads
        self.qkv, self.o = nn.Linear(d_model, d_model + 2 * self.g * self.d, bias), nn.Linear(d_model, d_model, bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        q, k, v = self.qkv(x).view(b, n, -1, self.d).transpose(1, 2).split([self.g * self.r, self.g, self.g], dim=1)
        s = (q.unflatten(1, (self.g, self.r)) @ k.unsqueeze(2).mT).flatten(1, 2) / q.size(3)  # first wrong
        p = self.drop((s if mask is None else s.masked_fill(mask == 0, -1e9)).softmax(dim=3)).unflatten(1, (self.g, self.r))
        return self.o((p @ v.unsqueeze(2)).flatten(1, 2).transpose(1, 2).reshape(b, n, m))
