"""Compute the scores against the past and within the chunk as two products, and mask the second.

A call without use_cache never copies the past keys and values, and the mask is only [L, L]. The
price is four products instead of two and a copy that joins the scores.
"""

import torch
from torch import nn


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        head_dim, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{num_heads} heads do not divide d_model {d_model}")
        self.num_heads, self.head_dim = num_heads, head_dim
        self.to_q = nn.Linear(d_model, d_model, bias)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias)
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model, bias))

    def split(self, t):
        return t.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(self, x, past_kv=None, use_cache=False):
        q = self.split(self.to_q(x)) / self.head_dim**0.5
        k, v = map(self.split, self.to_kv(x).chunk(2, dim=-1))

        n = x.size(1)
        future = torch.triu(torch.ones(n, n, dtype=torch.bool, device=x.device), diagonal=1)
        here = (q @ k.mT).masked_fill(future, -torch.inf)
        if past_kv is None:
            out = here.softmax(-1) @ v
        else:
            old_k, old_v = past_kv
            there = q @ old_k.mT
            weights = torch.cat((there, here), dim=-1).softmax(-1)
            old_weights, new_weights = weights.split([old_k.size(2), n], dim=-1)
            out = old_weights @ old_v + new_weights @ v
        out = self.to_out(out.transpose(1, 2).flatten(2))

        if not use_cache:
            return out
        if past_kv is None:
            return out, (k, v)
        return out, (torch.cat((old_k, k), dim=2), torch.cat((old_v, v), dim=2))
