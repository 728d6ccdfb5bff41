# mistakes: past-masked
"""Free functions, an added mask put together from two blocks, baddbmm with heads in the batch."""

import math

import torch
from torch import nn


def causal_bias(n, past, like):
    ahead = like.new_full((n, n), -math.inf).triu(1)
    return torch.cat((like.new_full((n, past), -math.inf), ahead), dim=1)  # first wrong


def widen(t, times):
    return torch.repeat_interleave(t, times, dim=1).flatten(0, 1)


def attention(q, k, v, bias):
    b, h, n, d = q.shape
    times = h // k.size(1)
    scores = torch.baddbmm(bias.unsqueeze(0), q.flatten(0, 1), widen(k, times).mT, alpha=1 / math.sqrt(d))
    return torch.bmm(torch.softmax(scores, dim=-1), widen(v, times)).unflatten(0, (b, h))


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError("heads, key/value heads and features do not fit")
        self.d = d_model // num_heads
        self.linear = nn.ModuleDict({
            "q": nn.Linear(d_model, d_model, bias=bias),
            "k": nn.Linear(d_model, num_kv_heads * self.d, bias=bias),
            "v": nn.Linear(d_model, num_kv_heads * self.d, bias=bias),
            "out_proj": nn.Linear(d_model, d_model, bias=bias),
        })

    def forward(self, x, past_kv=None, use_cache=False):
        n = x.shape[1]
        q, k, v = (self.linear[name](x).unflatten(2, (-1, self.d)).transpose(1, 2) for name in "qkv")
        past = 0
        if past_kv is not None:
            past = past_kv[0].shape[-2]
            k, v = (torch.cat([old, new], dim=-2) for old, new in zip(past_kv, (k, v), strict=True))
        out = attention(q, k, v, causal_bias(n, past, q))
        out = self.linear["out_proj"](out.transpose(1, 2).flatten(2))
        return (out, (k, v)) if use_cache else out
