# mistakes: keys-scaled-in-cache
"""Short lines; the rows of a group lie below each other, so that a plain product of [B * Hkv, ...] does it."""

import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        head_dim, left = divmod(d_model, num_heads)
        if left:
            raise ValueError("d_model is no multiple of num_heads")
        group, left = divmod(num_heads, num_kv_heads)
        if left:
            raise ValueError("num_heads is no multiple of num_kv_heads")
        self.head_dim = head_dim
        self.group = group
        self.num_kv_heads = num_kv_heads
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.value = nn.Linear(d_model, num_kv_heads * head_dim, bias=bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, m = x.shape
        scale = self.head_dim**-0.5

        q = self.query(x)
        q = q.view(b, n, self.num_kv_heads, self.group, self.head_dim)
        q = q.permute(0, 2, 3, 1, 4)
        q = q * scale

        k = self.key(x)
        k = k.view(b, n, self.num_kv_heads, self.head_dim)
        k = k.transpose(1, 2)
        k = k * scale  # first wrong

        v = self.value(x)
        v = v.view(b, n, self.num_kv_heads, self.head_dim)
        v = v.transpose(1, 2)

        p = 0
        if past_kv is not None:
            p = past_kv[0].shape[2]
            k = torch.cat((past_kv[0], k), dim=2)
            v = torch.cat((past_kv[1], v), dim=2)
        t = p + n

        rows = q.reshape(b * self.num_kv_heads, self.group * n, self.head_dim)
        columns = k.reshape(b * self.num_kv_heads, t, self.head_dim)
        scores = torch.bmm(rows, columns.transpose(1, 2))
        blocked = torch.ones(n, t, dtype=torch.bool, device=x.device)
        blocked = blocked.triu(p + 1)
        blocked = blocked.repeat(self.group, 1)
        scores = scores.masked_fill(blocked, float("-inf"))
        weights = scores.softmax(dim=2)

        out = torch.bmm(weights, v.reshape(b * self.num_kv_heads, t, self.head_dim))
        out = out.view(b, self.num_kv_heads, self.group, n, self.head_dim)
        out = out.permute(0, 3, 1, 2, 4)
        out = self.output(out.reshape(b, n, m))
        if use_cache:
            return out, (k, v)
        return out
