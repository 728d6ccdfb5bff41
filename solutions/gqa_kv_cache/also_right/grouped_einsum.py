"""Give the queries an axis for the group, so that an einsum needs no repeated keys and values.

A step does not write H / Hkv copies of the whole cache to memory. The price is an extra axis in the
queries and the scores, which makes the code harder to read.
"""

import torch
import torch.nn as nn
from torch import einsum


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model} % {num_heads} != 0"
        assert num_heads % num_kv_heads == 0, f"{num_heads} % {num_kv_heads} != 0"
        self.kv_heads = num_kv_heads
        self.groups = num_heads // num_kv_heads
        self.d_head = d_model // num_heads
        self.wq = nn.Linear(d_model, d_model, bias=bias)
        self.wk = nn.Linear(d_model, num_kv_heads * self.d_head, bias=bias)
        self.wv = nn.Linear(d_model, num_kv_heads * self.d_head, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, m = x.shape
        q = self.wq(x).reshape(b, n, self.kv_heads, self.groups, self.d_head)
        k = self.wk(x).reshape(b, n, self.kv_heads, self.d_head).permute(0, 2, 1, 3)
        v = self.wv(x).reshape(b, n, self.kv_heads, self.d_head).permute(0, 2, 1, 3)
        if past_kv is not None:
            k, v = (torch.cat(pair, dim=-2) for pair in zip(past_kv, (k, v)))

        total = k.size(-2)
        key_pos = torch.arange(total, device=x.device)
        query_pos = torch.arange(total - n, total, device=x.device)
        s = einsum("bikgd,bkjd->bkgij", q * self.d_head**-0.5, k)
        s = torch.where(key_pos[None, :] <= query_pos[:, None], s, torch.finfo(s.dtype).min)
        o = einsum("bkgij,bkjd->bikgd", s.softmax(-1), v).reshape(b, n, m)
        o = self.wo(o)
        return (o, (k, v)) if use_cache else o
