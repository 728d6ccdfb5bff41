# mistakes: state-in-module
# diagnosis: line elsewhere
"""Methods for each part of the work: project, join, attend, and one fused projection."""

import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}")
        if num_heads % num_kv_heads:
            raise ValueError(f"num_kv_heads={num_kv_heads} does not divide num_heads={num_heads}")
        self.parts = [num_heads, num_kv_heads, num_kv_heads]
        self.dim = d_model // num_heads
        self.wqkv = nn.Linear(d_model, sum(self.parts) * self.dim, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)
        self.memory = None

    def project(self, x):
        return self.wqkv(x).unflatten(-1, (-1, self.dim)).swapaxes(1, 2).split(self.parts, dim=1)

    def join(self, past, k, v):
        if past is None:
            return k, v
        return torch.cat((past[0], k), dim=-2), torch.cat((past[1], v), dim=-2)

    def attend(self, q, k, v):
        n, t = q.size(-2), k.size(-2)
        q = q.unflatten(1, (k.size(1), -1))
        s = q @ k.unsqueeze(2).mT / self.dim**0.5
        s = torch.where(torch.ones(n, t, dtype=torch.bool, device=s.device).tril(t - n), s, torch.finfo(s.dtype).min)
        return (s.softmax(-1) @ v.unsqueeze(2)).flatten(1, 2)

    def forward(self, x, past_kv=None, use_cache=False):
        q, k, v = self.project(x)
        past = self.memory if past_kv is None else past_kv  # first wrong
        k, v = self.join(past, k, v)
        self.memory = (k.detach(), v.detach()) if use_cache else None
        out = self.wo(self.attend(q, k, v).swapaxes(1, 2).flatten(2))
        return (out, (k, v)) if use_cache else out
