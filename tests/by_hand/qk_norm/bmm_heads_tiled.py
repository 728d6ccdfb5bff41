# mistakes: heads-tiled
"""Heads and batch in one axis; keys and values are repeated in the order K0 K1 K0 K1."""

import torch
from torch import nn
from torch.nn import functional as F


class Rms(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, t):
        return F.rms_norm(t, (t.shape[-1],), self.weight, self.eps)


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        if (not head_dim and d_model % num_heads) or num_heads % num_kv_heads:
            raise ValueError(f"{d_model}, {num_heads}, {num_kv_heads}")
        self.h, self.g, self.d = num_heads, num_kv_heads, head_dim or d_model // num_heads
        self.q_linear = nn.Linear(d_model, self.h * self.d, bias=False)
        self.k_linear = nn.Linear(d_model, self.g * self.d, bias=False)
        self.v_linear = nn.Linear(d_model, self.g * self.d, bias=False)
        self.o_linear = nn.Linear(self.h * self.d, d_model, bias=False)
        self.q_norm = Rms(self.d, eps)
        self.k_norm = Rms(self.d, eps)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q = self.q_norm(self.q_linear(x).view(b, n, self.h, self.d)).transpose(1, 2)
        k = self.k_norm(self.k_linear(x).view(b, n, self.g, self.d)).transpose(1, 2)
        v = self.v_linear(x).view(b, n, self.g, self.d).transpose(1, 2)
        copies = self.h // self.g
        k, v = torch.cat([k] * copies, dim=1), torch.cat([v] * copies, dim=1)  # first wrong
        q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
        bias = x.new_zeros(b, self.h, n, n)
        if mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        s = torch.baddbmm(bias.flatten(0, 1), q, k.transpose(1, 2), alpha=self.d**-0.5)
        o = torch.bmm(F.softmax(s, dim=2), v).view(b, self.h, n, self.d)
        return self.o_linear(o.permute(0, 2, 1, 3).reshape(b, n, self.h * self.d))
