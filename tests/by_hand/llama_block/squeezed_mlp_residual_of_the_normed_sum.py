# mistakes: second-residual-of-the-normed-sum
"""As few lines as possible."""

import torch
from torch import nn
from torch.nn import functional as F


class A(nn.Module):
    def __init__(s, m, h, g, d, t, base):
        super().__init__()
        if not d and m % h or h % g: raise ValueError((m, h, g))
        s.h, s.g, s.d = h, g, d or m // h
        s.wq, s.wo = nn.Linear(m, h * s.d, bias=False), nn.Linear(h * s.d, m, bias=False)
        s.wk, s.wv = nn.Linear(m, g * s.d, bias=False), nn.Linear(m, g * s.d, bias=False)
        s.a = torch.arange(t)[:, None] * base ** (-torch.arange(0, s.d, 2) / s.d)

    def r(s, x, a):
        x, y = x.chunk(2, -1)
        c, z = a.cos().to(x.dtype), a.sin().to(x.dtype)
        return torch.cat((x * c - y * z, y * c + x * z), -1)

    def forward(s, x, p):
        b, n, m = x.shape
        q, k, v = (f(x).view(b, n, -1, s.d).transpose(1, 2) for f in (s.wq, s.wk, s.wv))
        a = s.a[torch.arange(n)[None] if p is None else p][:, None]
        q, k = s.r(q, a), s.r(k, a)
        k, v = (t.repeat_interleave(s.h // s.g, 1) for t in (k, v))
        w = (q @ k.mT / s.d**0.5).masked_fill(torch.ones(n, n).triu(1) > 0, -torch.inf).softmax(-1)
        return s.wo((w @ v).transpose(1, 2).flatten(2))


class M(nn.Module):
    def __init__(s, m, f):
        super().__init__()
        s.w1, s.w3, s.w2 = nn.Linear(m, f, bias=False), nn.Linear(m, f, bias=False), nn.Linear(f, m, bias=False)

    def forward(s, x):
        return s.w2(F.silu(s.w1(x)) * s.w3(x))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.input_norm, self.post_norm = nn.RMSNorm(d_model, eps), nn.RMSNorm(d_model, eps)
        self.attn, self.mlp = A(d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base), M(d_model, hidden_dim)

    def forward(self, x, position_ids=None):
        y = self.post_norm(x + self.attn(self.input_norm(x), position_ids))
        return y + self.mlp(y)  # first wrong
