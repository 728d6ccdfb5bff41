"""Attend to the past and to the chunk separately, and merge the results by log-sum-exp.

The keys and values are not repeated, and the two parts could be computed by different processors.
The price is more operations, because the exponentials are computed twice, and in half precision
also float32 copies of the scores and values.
"""

import math

import torch
from torch import nn


def partial_attention(q, k, v, mask=None):
    """q [B, Hkv, G * L, D] against k, v [B, Hkv, S, D]; all of it in float32 or better."""
    scores = torch.matmul(q, k.transpose(-1, -2)).to(torch.promote_types(q.dtype, torch.float32)) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -1e9)
    lse = torch.logsumexp(scores, dim=-1, keepdim=True)
    return torch.matmul(torch.exp(scores - lse), v.to(scores.dtype)), lse


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) has to be divisible by num_heads ({num_heads})")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads ({num_heads}) has to be divisible by num_kv_heads ({num_kv_heads})")
        self.group = num_heads // num_kv_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = d_model // num_heads
        kv_width = num_kv_heads * self.head_dim
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, kv_width, bias=bias)
        self.value = nn.Linear(d_model, kv_width, bias=bias)
        self.dense = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        batch, length, width = x.size()
        q = self.query(x).view(batch, length, self.num_kv_heads, self.group, self.head_dim)
        q = q.permute(0, 2, 3, 1, 4).reshape(batch, self.num_kv_heads, self.group * length, self.head_dim)
        k, v = (layer(x).view(batch, length, self.num_kv_heads, self.head_dim).transpose(1, 2) for layer in (self.key, self.value))

        rows = torch.arange(length, device=x.device)
        out, lse = partial_attention(q, k, v, (rows[:, None] >= rows).repeat(self.group, 1))
        if past_kv is not None:
            past_out, past_lse = partial_attention(q, *past_kv)
            share = torch.sigmoid(lse - past_lse)
            out = share * out + (1 - share) * past_out
            k, v = (torch.cat([old, new], dim=2) for old, new in zip(past_kv, (k, v)))

        out = out.to(x.dtype).view(batch, self.num_kv_heads, self.group, length, self.head_dim)
        out = self.dense(out.permute(0, 3, 1, 2, 4).reshape(batch, length, width))
        return (out, (k, v)) if use_cache else out
