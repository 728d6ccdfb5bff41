"""Allocate the joined cache and copy both parts into it, and use baddbmm for scale and mask.

The two copies cost as much as torch.cat. baddbmm scales and masks in the product itself, which
makes three tensors of the size of the scores instead of four, despite the hand-written softmax.
"""

import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=bias)

    def forward(self, x):
        b, n, _ = x.shape
        return self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model // num_heads * num_heads != d_model:
            raise ValueError(f"cannot split {d_model} features among {num_heads} heads")
        self.project = Heads(d_model, num_heads, bias)
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
        t = k.shape[2]

        ahead = torch.ones(n, t, dtype=torch.bool, device=x.device).triu(t - n + 1)
        mask = torch.zeros(n, t, dtype=x.dtype, device=x.device).masked_fill_(ahead, float("-inf"))
        s = torch.baddbmm(mask.expand(b * h, n, t), q.reshape(b * h, n, d), k.reshape(b * h, t, d).transpose(1, 2), alpha=d**-0.5)
        e = (s - s.amax(dim=-1, keepdim=True)).exp()
        o = torch.bmm(e, v.reshape(b * h, t, d)) / e.sum(dim=-1, keepdim=True)
        o = self.out_proj(o.view(b, h, n, d).transpose(1, 2).reshape(b, n, h * d))
        return (o, (k, v)) if use_cache else o
