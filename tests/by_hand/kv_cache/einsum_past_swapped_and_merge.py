# mistakes: past-swapped, heads-merged-without-transpose
"""Einsum with a product of all pairs in one string, names of one letter."""

import torch
from torch import nn


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        assert not d_model % num_heads
        self.h = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias) for _ in "qkvo")

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, m = x.shape
        d = m // self.h
        q, k, v = (f(x).view(b, n, self.h, d) for f in (self.q, self.k, self.v))
        q, k, v = q / d**0.5, k.transpose(1, 2), v.transpose(1, 2)
        if past_kv is not None:
            pv, pk = past_kv  # first wrong
            k, v = torch.cat((pk, k), -2), torch.cat((pv, v), -2)
        s = torch.einsum("bnhd,bhtd->bhnt", q, k)
        t = k.shape[2]
        s = s.where(torch.ones(n, t, device=x.device).tril(t - n) > 0, -torch.inf)
        y = torch.einsum("bhnt,bhtd->bhnd", s.softmax(3), v).reshape(b, n, m)  # also wrong
        y = self.o(y)
        return (y, (k, v)) if use_cache else y
