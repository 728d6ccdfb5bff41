# mistakes: eps-outside-the-root
"""A nested function for the norm; eps is added to the root, as in code that only avoids 0 / 0."""

import torch
from torch import nn


class Vector(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if head_dim is None and d_model % num_heads:
            raise ValueError((d_model, num_heads))
        if num_heads % num_kv_heads:
            raise ValueError((num_heads, num_kv_heads))
        self.num_heads, self.num_kv_heads, self.eps = num_heads, num_kv_heads, eps
        size = head_dim if head_dim else d_model // num_heads
        self.query = nn.Linear(d_model, size * num_heads, bias=False)
        self.output = nn.Linear(size * num_heads, d_model, bias=False)
        self.key, self.value = (nn.Linear(d_model, size * num_kv_heads, bias=False) for _ in "kv")
        self.q_norm, self.k_norm = Vector(size), Vector(size)

    def forward(self, x, mask=None):
        def normed(t, weight):
            rms = t.square().mean(dim=-1, keepdim=True).sqrt()
            return t / (rms + self.eps) * weight  # first wrong

        def heads(t, n):
            return t.reshape(*t.shape[:2], n, -1).movedim(2, 1)

        q = normed(heads(self.query(x), self.num_heads), self.q_norm.weight)
        k = normed(heads(self.key(x), self.num_kv_heads), self.k_norm.weight)
        v = heads(self.value(x), self.num_kv_heads)
        times = self.num_heads // self.num_kv_heads
        k = k.repeat_interleave(times, 1)
        v = v.repeat_interleave(times, 1)
        energy = torch.matmul(q, k.transpose(2, 3)) / q.shape[-1] ** 0.5
        if mask is not None:
            energy = energy.masked_fill(torch.logical_not(mask), float("-inf"))
        shares = torch.exp(energy - energy.logsumexp(-1, keepdim=True))
        return self.output(torch.matmul(shares, v).movedim(1, 2).flatten(2))
