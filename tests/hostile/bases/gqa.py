"""Grouped-query attention in three methods, any of which an attack can replace."""

import torch  # noqa: F401 - for the files that build on this one
from torch import nn


class GroupedQueryAttention(nn.Module):
    """A right answer to `gqa`."""

    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(f"{d_model} {num_heads} {num_kv_heads}")
        self.h, self.g, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.v_proj = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        """Project, attend and merge the heads."""
        b, n, m = x.shape
        q = self.q_proj(x).view(b, n, self.h, self.d).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.g, self.d).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.g, self.d).transpose(1, 2)
        k, v = (t.repeat_interleave(self.h // self.g, 1) for t in (k, v))
        return self.o_proj(self.attend(q, k, v, mask).transpose(1, 2).reshape(b, n, m))

    def attend(self, q, k, v, mask):
        """Return the output of each head, [B, H, L, D]."""
        s = q @ k.mT / self.d**0.5
        if mask is not None:
            s = s.masked_fill(~mask, float("-inf"))
        return self.mixed(self.drop(s.softmax(-1)), v)

    def mixed(self, w, v):
        """Return the values, weighted by the weights."""
        return w @ v
