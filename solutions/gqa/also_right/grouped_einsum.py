"""Make the group an axis of the queries, so that an einsum needs no copy of k and v.

k and v take H / Hkv times less memory than repeated ones. The price is a reshape of the queries
and an output with one more axis.
"""

import torch
import torch.nn as nn
from torch import einsum


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model} % {num_heads}"
        assert num_heads % num_kv_heads == 0, f"{num_heads} % {num_kv_heads}"
        self.h, self.g = num_heads, num_kv_heads
        self.d = d_model // num_heads
        self.wq = nn.Linear(d_model, d_model, bias=bias)
        self.wk = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.wv = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.wo = nn.Linear(d_model, d_model, bias=bias)
        self.p = dropout

    def forward(self, x, mask=None):
        b, n, m = x.shape
        q = self.wq(x).reshape(b, n, self.g, self.h // self.g, self.d)
        k = self.wk(x).reshape(b, n, self.g, self.d)
        v = self.wv(x).reshape(b, n, self.g, self.d)
        s = einsum("bigrd,bjgd->bgrij", q * self.d**-0.5, k)
        if mask is not None:
            full = mask.expand(b, self.h, n, n).reshape(b, self.g, self.h // self.g, n, n)
            s = torch.where(full, s, torch.finfo(s.dtype).min)
        w = s.softmax(-1)
        w = nn.functional.dropout(w, self.p, self.training)
        return self.wo(einsum("bgrij,bjgd->bigrd", w, v).reshape(b, n, m))
