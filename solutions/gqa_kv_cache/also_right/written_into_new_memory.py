"""Allocate the joined cache and copy both parts into it, and use baddbmm for scale and mask.

torch.stack copies k and v for every query of the group, as repeat_interleave does. baddbmm scales
and masks in the product itself, which makes three tensors of the size of the scores instead of
four.
"""

import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, width, heads, kv_heads, bias):
        super().__init__()
        self.parts = (heads, kv_heads, kv_heads)
        self.qkv = nn.Linear(width, sum(self.parts) * (width // heads), bias=bias)

    def forward(self, x):
        b, n, _ = x.shape
        return self.qkv(x).view(b, n, sum(self.parts), -1).transpose(1, 2).split(self.parts, dim=1)


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model // num_heads * num_heads != d_model:
            raise ValueError(f"cannot split {d_model} features among {num_heads} heads")
        if num_heads // num_kv_heads * num_kv_heads != num_heads:
            raise ValueError(f"cannot split {num_heads} query heads among {num_kv_heads} key/value heads")
        self.project = Heads(d_model, num_heads, num_kv_heads, bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    @staticmethod
    def append(old, new):
        b, h, n, d = new.shape
        p = old.shape[2]
        joined = new.new_empty(b, h, p + n, d)
        joined[:, :, :p] = old
        joined[:, :, p:] = new
        return joined

    def forward(self, x, past_kv=None, use_cache=False):
        q, k, v = self.project(x)
        b, h, n, d = q.shape
        if past_kv is not None:
            k, v = self.append(past_kv[0], k), self.append(past_kv[1], v)
        t, group = k.shape[2], h // k.shape[1]
        wide_k, wide_v = (torch.stack([z] * group, dim=2).view(b * h, t, d) for z in (k, v))

        ahead = torch.ones(n, t, dtype=torch.bool, device=x.device).triu(t - n + 1)
        mask = torch.zeros(n, t, dtype=x.dtype, device=x.device).masked_fill_(ahead, float("-inf"))
        s = torch.baddbmm(mask.expand(b * h, n, t), q.reshape(b * h, n, d), wide_k.transpose(1, 2), alpha=d**-0.5)
        e = (s - s.amax(dim=-1, keepdim=True)).exp()
        o = torch.bmm(e, wide_v) / e.sum(dim=-1, keepdim=True)
        o = self.out_proj(o.view(b, h, n, d).transpose(1, 2).reshape(b, n, h * d))
        return (o, (k, v)) if use_cache else o
