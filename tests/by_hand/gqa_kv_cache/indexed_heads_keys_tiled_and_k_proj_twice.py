# mistakes: keys-tiled, values-from-k-proj
"""Key/value heads are picked by lists of indices; past and chunk have a product each and share one softmax."""

import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model // num_heads * num_heads != d_model:
            raise ValueError(f"{d_model} into {num_heads}")
        if num_heads // num_kv_heads * num_kv_heads != num_heads:
            raise ValueError(f"{num_heads} into {num_kv_heads}")
        self.h, self.hkv, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_k = nn.Linear(d_model, num_kv_heads * self.d, bias=bias)
        self.to_v = nn.Linear(d_model, num_kv_heads * self.d, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)
        self.key_of = [i % num_kv_heads for i in range(num_heads)]  # first wrong
        self.value_of = [i // (num_heads // num_kv_heads) for i in range(num_heads)]

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, m = x.shape
        q = self.to_q(x).view(b, n, self.h, self.d).permute(0, 2, 1, 3)
        k = self.to_k(x).view(b, n, self.hkv, self.d).permute(0, 2, 1, 3)
        v = self.to_k(x).view(b, n, self.hkv, self.d).permute(0, 2, 1, 3)  # also wrong
        q = q / self.d**0.5
        scores = q @ k[:, self.key_of].transpose(-1, -2)
        scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1), float("-inf"))
        if past_kv is None:
            y = scores.softmax(-1) @ v[:, self.value_of]
        else:
            pk, pv = past_kv
            both = torch.cat((q @ pk[:, self.key_of].transpose(-1, -2), scores), -1).softmax(-1)
            y = both[..., :-n] @ pv[:, self.value_of] + both[..., -n:] @ v[:, self.value_of]
            k, v = torch.cat((pk, k), 2), torch.cat((pv, v), 2)
        y = self.to_out(y.permute(0, 2, 1, 3).reshape(b, n, m))
        return (y, (k, v)) if use_cache else y
