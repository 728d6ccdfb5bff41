# mistakes: attentions-in-the-other-order
"""A loop over three branches; the pairs of norm and branch are right, their order is not."""

import math

import torch
from torch import nn


class Attn(nn.Module):
    def __init__(self, d, h, e):
        super().__init__()
        assert d % h == 0, (d, h)
        self.h = h
        self.w_q, self.w_k, self.w_v, self.w_o = nn.Linear(d, d), nn.Linear(e, d), nn.Linear(e, d), nn.Linear(d, d)

    def forward(self, x, m, ok):
        b, n, d = x.shape
        q = self.w_q(x).view(b, n, self.h, d // self.h).transpose(1, 2)
        k = self.w_k(m).view(b, m.shape[1], self.h, d // self.h).transpose(1, 2)
        v = self.w_v(m).view(b, m.shape[1], self.h, d // self.h).transpose(1, 2)
        s = (q @ k.mT).mul(1 / math.sqrt(d // self.h))
        s = s if ok is None else s.masked_fill(ok == 0, -math.inf)
        return self.w_o((s.log_softmax(-1).exp() @ v).transpose(1, 2).flatten(2))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d_model) for _ in "abc")
        self.self_attn, self.cross_attn = Attn(d_model, num_heads, d_model), Attn(d_model, num_heads, memory_dim)
        self.mlp = nn.Module()
        self.mlp.fc = nn.Linear(d_model, d_model * 4)
        self.mlp.proj = nn.Linear(d_model * 4, d_model)

    def forward(self, x, memory, memory_mask=None):
        n = x.shape[1]
        ok = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        real = memory_mask[:, None, None] if memory_mask is not None else None
        branches = {
            self.norm_2: lambda y: self.cross_attn(y, memory, real),
            self.norm_1: lambda y: self.self_attn(y, y, ok),
            self.norm_3: lambda y: self.mlp.proj(nn.functional.gelu(self.mlp.fc(y))),
        }
        for norm, branch in branches.items():
            x = x + branch(norm(x))  # first wrong
        return x
