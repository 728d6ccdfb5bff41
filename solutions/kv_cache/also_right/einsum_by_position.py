"""Keep the queries as [B, L, H, D] for einsum, and make the mask by comparing positions.

The FLOPs of the products are the same. The queries are scaled instead of the scores, which takes
fewer multiplications as soon as there are more keys than features in a head.
"""

import torch
import torch.nn as nn
from torch import einsum


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model} % {num_heads} != 0"
        self.n_heads = num_heads
        self.d_head = d_model // num_heads
        self.wq = nn.Linear(d_model, d_model, bias=bias)
        self.wk = nn.Linear(d_model, d_model, bias=bias)
        self.wv = nn.Linear(d_model, d_model, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, m = x.shape
        q = self.wq(x).reshape(b, n, self.n_heads, self.d_head)
        k = self.wk(x).reshape(b, n, self.n_heads, self.d_head).permute(0, 2, 1, 3)
        v = self.wv(x).reshape(b, n, self.n_heads, self.d_head).permute(0, 2, 1, 3)
        if past_kv is not None:
            k, v = (torch.cat(pair, dim=-2) for pair in zip(past_kv, (k, v)))

        total = k.size(-2)
        key_pos = torch.arange(total, device=x.device)
        query_pos = torch.arange(total - n, total, device=x.device)
        s = einsum("bihd,bhjd->bhij", q * self.d_head**-0.5, k)
        s = torch.where(key_pos[None, :] <= query_pos[:, None], s, torch.finfo(s.dtype).min)
        o = einsum("bhij,bhjd->bihd", s.softmax(-1), v).reshape(b, n, m)
        o = self.wo(o)
        return (o, (k, v)) if use_cache else o
