# mistakes: only-too-many-kv-heads-refused
"""As short as it goes."""

import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        assert d_model % num_heads == 0 and num_heads >= num_kv_heads  # first wrong
        self.d, self.r = d_model // num_heads, num_heads // num_kv_heads
        self.q, self.o = nn.Linear(d_model, d_model, bias), nn.Linear(d_model, d_model, bias)
        self.k, self.v = nn.Linear(d_model, num_kv_heads * self.d, bias), nn.Linear(d_model, num_kv_heads * self.d, bias)

    def forward(self, x, past_kv=None, use_cache=False):
        q, k, v = (f(x).unflatten(2, (-1, self.d)).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, v = (k, v) if past_kv is None else (torch.cat((past_kv[0], k), 2), torch.cat((past_kv[1], v), 2))
        s = q @ k.repeat_interleave(self.r, 1).mT / self.d**0.5
        s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(s.size(3) - s.size(2) + 1), -torch.inf).softmax(3)
        y = self.o((s @ v.repeat_interleave(self.r, 1)).transpose(1, 2).flatten(2))
        return (y, (k, v)) if use_cache else y
