"""Write both products with einsum, so that k and v need no axis for the heads.

k and v are never copied for the heads, whereas matmul copies them H times if B > 1. But the second
einsum copies the weights, which need more memory than these copies if L > D.
"""

import torch
import torch.nn as nn
from torch import einsum


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be divisible by num_heads"
        self.h, self.d = num_heads, d_model // num_heads
        self.wq = nn.Linear(d_model, self.h * self.d, bias=bias)
        self.wk = nn.Linear(d_model, self.d, bias=bias)
        self.wv = nn.Linear(d_model, self.d, bias=bias)
        self.wo = nn.Linear(self.h * self.d, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.wq(x).unflatten(-1, (self.h, self.d))
        k, v = self.wk(x), self.wv(x)
        s = einsum("bihd,bjd->bhij", q, k) * self.d**-0.5
        if mask is not None:
            s = torch.where(mask, s, -torch.inf)
        w = self.drop(s.softmax(dim=-1))
        return self.wo(einsum("bhij,bjd->bihd", w, v).flatten(2))
