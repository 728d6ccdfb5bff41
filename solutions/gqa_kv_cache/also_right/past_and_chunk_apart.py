"""Compute scores against the past and within the chunk as two products that broadcast over groups.

A call without use_cache does not join the past with the chunk, and the mask is only [L, L]. The
products still copy k and v for every query of the group, and there are four instead of two.
"""

import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        head_dim, rest = divmod(d_model, num_heads)
        group, kv_rest = divmod(num_heads, num_kv_heads)
        if rest:
            raise ValueError(f"{num_heads} heads do not divide d_model {d_model}")
        if kv_rest:
            raise ValueError(f"{num_kv_heads} key/value heads do not divide {num_heads} query heads")
        self.q_shape, self.kv_shape = (num_kv_heads, group, head_dim), (num_kv_heads, head_dim)
        self.scale = head_dim**-0.5
        self.to_q = nn.Linear(d_model, d_model, bias)
        self.to_kv = nn.Linear(d_model, 2 * num_kv_heads * head_dim, bias)
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model, bias))

    def forward(self, x, past_kv=None, use_cache=False):
        q = self.to_q(x).unflatten(-1, self.q_shape).movedim(1, 3) * self.scale
        k, v = (t.unflatten(-1, self.kv_shape).transpose(1, 2) for t in self.to_kv(x).chunk(2, dim=-1))

        n = x.size(1)
        future = torch.triu(torch.ones(n, n, dtype=torch.bool, device=x.device), diagonal=1)
        here = (q @ k.unsqueeze(2).mT).masked_fill(future, -torch.inf)
        if past_kv is None:
            out = here.softmax(-1) @ v.unsqueeze(2)
        else:
            old_k, old_v = past_kv
            there = q @ old_k.unsqueeze(2).mT
            weights = torch.cat((there, here), dim=-1).softmax(-1)
            old_weights, new_weights = weights.split([old_k.size(2), n], dim=-1)
            out = old_weights @ old_v.unsqueeze(2) + new_weights @ v.unsqueeze(2)
        out = self.to_out(out.movedim(3, 1).flatten(2))

        if not use_cache:
            return out
        if past_kv is None:
            return out, (k, v)
        return out, (torch.cat((old_k, k), dim=2), torch.cat((old_v, v), dim=2))
