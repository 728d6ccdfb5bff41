# mistakes: heads-tiled
"""einsum for all products, with the heads of keys and values laid out as [group, head]."""

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, n, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.eps = eps

    def forward(self, t):
        return nn.functional.rms_norm(t, t.shape[-1:], self.weight, self.eps)


class Attn(nn.Module):
    def __init__(self, m, h, g, d, rows, base):
        super().__init__()
        if (d is None and m % h) or h % g:
            raise ValueError(f"{m}, {h}, {g}")
        self.h, self.g, self.d = h, g, d or m // h
        self.wq = nn.Linear(m, h * self.d, bias=False)
        self.wk = nn.Linear(m, g * self.d, bias=False)
        self.wv = nn.Linear(m, g * self.d, bias=False)
        self.wo = nn.Linear(h * self.d, m, bias=False)
        freq = 1.0 / base ** (torch.arange(0, self.d, 2).float() / self.d)
        self.angles = torch.arange(rows).float()[:, None] * freq

    def forward(self, t, pos):
        b, n, m = t.shape
        q = self.wq(t).reshape(b, n, self.h, self.d)
        k = self.wk(t).reshape(b, n, self.g, self.d)
        v = self.wv(t).reshape(b, n, self.g, self.d)
        angle = self.angles[pos][:, :, None]
        c, s = angle.cos().to(t.dtype), angle.sin().to(t.dtype)
        lo, hi = q.chunk(2, -1)
        q = torch.cat((lo * c - hi * s, hi * c + lo * s), -1)
        lo, hi = k.chunk(2, -1)
        k = torch.cat((lo * c - hi * s, hi * c + lo * s), -1)
        k = torch.cat([k] * (self.h // self.g), dim=2)  # first wrong
        v = torch.cat([v] * (self.h // self.g), dim=2)
        s = torch.einsum("bihd,bjhd->bhij", q, k) / self.d**0.5
        s = s.masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf"))
        return self.wo(torch.einsum("bhij,bjhd->bihd", s.softmax(-1), v).flatten(2))


class Mlp(nn.Module):
    def __init__(self, m, f):
        super().__init__()
        self.w1 = nn.Linear(m, f, bias=False)
        self.w2 = nn.Linear(f, m, bias=False)
        self.w3 = nn.Linear(m, f, bias=False)

    def forward(self, t):
        return self.w2(nn.functional.silu(self.w1(t)) * self.w3(t))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.input_norm, self.post_norm = Norm(d_model, eps), Norm(d_model, eps)
        self.attn = Attn(d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base)
        self.mlp = Mlp(d_model, hidden_dim)

    def forward(self, x, position_ids=None):
        if position_ids is None:
            position_ids = torch.arange(x.shape[1])[None]
        h = x + self.attn(self.input_norm(x), position_ids)
        return h + self.mlp(self.post_norm(h))
