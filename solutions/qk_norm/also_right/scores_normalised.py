"""Multiply raw queries and keys, and divide the scores by both root mean squares afterwards.

Each root mean square is one number per query or key, so the division may come last. It then touches
L * L numbers instead of L * D, and large queries overflow earlier.
"""

import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def inverse_rms(self, t):
        return torch.rsqrt(t.float().pow(2).mean(dim=-1) + self.eps).to(t.dtype)


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if head_dim is None:
            head_dim, rest = divmod(d_model, num_heads)
            if rest:
                raise ValueError(f"{num_heads} heads do not divide d_model {d_model}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_kv_heads} key/value heads do not divide {num_heads} heads")
        self.dim = head_dim
        self.group = num_heads // num_kv_heads
        self.query = nn.Linear(d_model, num_heads * self.dim, bias=False)
        self.key = nn.Linear(d_model, num_kv_heads * self.dim, bias=False)
        self.value = nn.Linear(d_model, num_kv_heads * self.dim, bias=False)
        self.output = nn.Linear(num_heads * self.dim, d_model, bias=False)
        self.q_norm, self.k_norm = Scale(self.dim, eps), Scale(self.dim, eps)

    def forward(self, x, mask=None):
        def heads(t):
            return t.unflatten(2, (-1, self.dim)).movedim(2, 1)

        q = heads(self.query(x))
        k = heads(self.key(x)).repeat_interleave(self.group, dim=1)
        v = heads(self.value(x)).repeat_interleave(self.group, dim=1)
        left, right = self.q_norm.inverse_rms(q), self.k_norm.inverse_rms(k)
        raw = (q * self.q_norm.weight) @ (k * self.k_norm.weight).transpose(-1, -2)
        scores = raw * left.unsqueeze(-1) * right.unsqueeze(-2) * self.dim**-0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        mixed = torch.matmul(scores.softmax(dim=-1), v)
        return self.output(mixed.movedim(1, 2).flatten(2))
