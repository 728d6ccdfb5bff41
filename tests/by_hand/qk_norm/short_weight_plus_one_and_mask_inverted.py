# mistakes: weight-plus-one, mask-inverted
"""As short as it gets."""

import torch, torch.nn as nn


class N(nn.Module):
    def __init__(self, d, e):
        super().__init__()
        self.weight, self.e = nn.Parameter(torch.ones(d)), e

    def forward(self, t):
        r = t * (t.pow(2).mean(-1, keepdim=True) + self.e).rsqrt()
        return r * (1.0 + self.weight)  # first wrong


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if head_dim is None and d_model % num_heads or num_heads % num_kv_heads: raise ValueError((d_model, num_heads, num_kv_heads))
        self.d, self.r = head_dim or d_model // num_heads, num_heads // num_kv_heads
        u, w = self.d * num_heads, self.d * num_kv_heads
        self.q, self.k, self.v = (nn.Linear(d_model, n, False) for n in (u, w, w))
        self.o = nn.Linear(u, d_model, False)
        self.q_norm, self.k_norm = N(self.d, eps), N(self.d, eps)

    def forward(self, x, mask=None):
        q, k, v = (f(x).unflatten(2, (-1, self.d)).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k = self.q_norm(q), self.k_norm(k)
        k, v = k.repeat_interleave(self.r, 1), v.repeat_interleave(self.r, 1)
        s = q @ k.mT / self.d**0.5
        if mask is not None: s = s.masked_fill(mask, -1e9)  # also wrong
        return self.o((s.softmax(3) @ v).transpose(1, 2).flatten(2))
