# mistakes: softmax-over-queries, cache-swapped
"""Heads before tokens all the way, a fused projection in a module of its own, a triangle registered once."""

import torch
import torch.nn as nn


class Projection(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.qkv_proj = nn.Linear(width, 3 * width, bias=bias)

    def forward(self, x):
        packed = self.qkv_proj(x)
        return [part.unflatten(-1, (self.heads, -1)).swapdims(1, 2) for part in packed.tensor_split(3, dim=-1)]


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, longest=400):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} / num_heads {num_heads}")
        self.project = Projection(d_model, num_heads, bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.norm = (d_model // num_heads) ** 0.5
        self.register_buffer("hidden", torch.ones(longest, longest, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x, past_kv=None, use_cache=False):
        q, k, v = self.project(x)
        begin = 0
        if past_kv is not None:
            begin = past_kv[0].shape[-2]
            k, v = torch.cat([past_kv[0], k], dim=-2), torch.cat([past_kv[1], v], dim=-2)
        end = begin + x.shape[1]
        scores = q.matmul(k.mT) / self.norm
        scores = scores.masked_fill(self.hidden[begin:end, :end], float("-inf"))
        exps = (scores - scores.max(2, keepdim=True).values).exp()  # first wrong
        weights = exps / exps.sum(2, keepdim=True)
        out = self.out_proj(weights.matmul(v).swapdims(1, 2).flatten(2))
        if use_cache:
            return out, (v, k)  # also wrong
        return out
