# mistakes: heads-tiled, mask-inverted
"""The query heads on two axes, einsum over five, nothing copied; the mask gets the two axes too."""

import math

import torch
from torch import einsum, nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if num_heads % num_kv_heads or d_model % num_heads:
            raise ValueError(f"{d_model} / {num_heads} / {num_kv_heads}")
        self.kv = num_kv_heads
        self.fold = num_heads // num_kv_heads
        self.size = d_model // num_heads
        self.proj = nn.ModuleDict(
            {
                "q": nn.Linear(d_model, d_model, bias=bias),
                "k": nn.Linear(d_model, self.kv * self.size, bias=bias),
                "v": nn.Linear(d_model, self.kv * self.size, bias=bias),
                "o": nn.Linear(d_model, d_model, bias=bias),
            }
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        q = self.proj["q"](x).view(b, n, self.fold, self.kv, self.size)  # first wrong
        k = self.proj["k"](x).view(b, n, self.kv, self.size)
        v = self.proj["v"](x).view(b, n, self.kv, self.size)
        e = einsum("nifgd,njgd->nfgij", q, k) / math.sqrt(self.size)
        if mask is not None:
            hidden = mask.expand(b, self.fold * self.kv, n, n)  # also wrong
            hidden = hidden.reshape(b, self.fold, self.kv, n, n)
            e = torch.where(hidden, -math.inf, e)
        a = self.drop(torch.softmax(e, dim=-1))
        y = einsum("nfgij,njgd->nifgd", a, v)
        return self.proj["o"](y.reshape(b, n, m))
