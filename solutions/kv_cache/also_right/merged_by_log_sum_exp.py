"""Attend to the past and to the chunk separately, and merge the results by their log-sum-exps.

The two parts could be computed by different processors, as in flash-decoding. The price is more
operations, because the exponentials are computed twice, and in half precision also float32 copies
of the scores and values.
"""

import math

import torch
from torch import nn


def partial_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2)).to(torch.promote_types(q.dtype, torch.float32)) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -1e9)
    lse = torch.logsumexp(scores, dim=-1, keepdim=True)
    return torch.matmul(torch.exp(scores - lse), v.to(scores.dtype)), lse


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) has to be divisible by num_heads ({num_heads})")
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, d_model, bias=bias)
        self.value = nn.Linear(d_model, d_model, bias=bias)
        self.dense = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        batch, length, width = x.size()
        heads = (batch, length, self.num_heads, width // self.num_heads)
        q, k, v = (layer(x).view(heads).transpose(1, 2) for layer in (self.query, self.key, self.value))

        rows = torch.arange(length, device=x.device)
        out, lse = partial_attention(q, k, v, rows[:, None] >= rows)
        if past_kv is not None:
            past_out, past_lse = partial_attention(q, *past_kv)
            share = torch.sigmoid(lse - past_lse)
            out = share * out + (1 - share) * past_out
            k, v = (torch.cat([old, new], dim=2) for old, new in zip(past_kv, (k, v)))

        out = self.dense(out.to(x.dtype).transpose(1, 2).reshape(batch, length, width))
        return (out, (k, v)) if use_cache else out
