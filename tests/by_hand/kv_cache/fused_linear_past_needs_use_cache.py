# mistakes: past-needs-use-cache
"""The past is joined on only when use_cache is set; without it past_kv is ignored."""

import torch
from torch import nn


class CausalCore(nn.Module):
    """softmax(q k^T / sqrt d) v, where the queries are the last tokens of the keys"""

    def forward(self, q, k, v):
        n, m, d = q.size(2), k.size(2), q.size(3)
        att = torch.matmul(q, k.transpose(2, 3)) * (d**-0.5)
        future = torch.triu(torch.ones(n, m, device=q.device), diagonal=m - n + 1).bool()
        att = att.masked_fill(future, float("-inf"))
        return torch.matmul(torch.softmax(att, dim=-1), v)


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("heads!")
        self.n_head = num_heads
        self.d_model = d_model
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        self.core = CausalCore()

    def forward(self, x, past_kv=None, use_cache=False):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.d_model, dim=2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

        present = None
        if use_cache and past_kv is not None:  # first wrong
            k = torch.cat((past_kv[0], k), dim=2)
            v = torch.cat((past_kv[1], v), dim=2)
        if use_cache:
            present = (k, v)

        y = self.core(q, k, v)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        y = self.c_proj(y)
        return y if present is None else (y, present)
