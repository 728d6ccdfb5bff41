# mistakes: gate-and-up-exchanged
"""Batch and heads folded for bmm; the MLP stacks both wide weights into one product."""

import torch
import torch.nn.functional as F
from torch import nn


class LlamaAttention(nn.Module):
    def __init__(self, c, h, g, d, t, base):
        super().__init__()
        assert (d or c % h == 0) and h % g == 0, (c, h, g)
        self.h, self.g, self.d = h, g, d or c // h
        self.q_proj = nn.Linear(c, h * self.d, bias=False)
        self.k_proj = nn.Linear(c, g * self.d, bias=False)
        self.v_proj = nn.Linear(c, g * self.d, bias=False)
        self.o_proj = nn.Linear(h * self.d, c, bias=False)
        w = torch.arange(t)[:, None] / base ** (torch.arange(0, self.d, 2) / self.d)
        self.register_buffer("c", w.repeat(1, 2).cos(), persistent=False)
        self.register_buffer("s", w.repeat(1, 2).sin(), persistent=False)

    def forward(self, y, p):
        b, n, c = y.shape
        heads = [f(y).view(b, n, -1, self.d) for f in (self.q_proj, self.k_proj, self.v_proj)]
        cos, sin = self.c[p].unsqueeze(2), self.s[p].unsqueeze(2)
        sign = torch.tensor([-1.0, 1.0], dtype=y.dtype).repeat_interleave(self.d // 2)
        q, k = (t * cos + t.roll(self.d // 2, -1) * sign * sin for t in heads[:2])
        k, v = (t.repeat_interleave(self.h // self.g, dim=2) for t in (k, heads[2]))
        q, k, v = (t.permute(0, 2, 1, 3).reshape(b * self.h, n, self.d) for t in (q, k, v))
        a = torch.bmm(q, k.transpose(1, 2)) * self.d**-0.5
        a = a.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(diagonal=1), -1e9)
        o = torch.bmm(torch.softmax(a, 2), v).view(b, self.h, n, self.d)
        return self.o_proj(o.permute(0, 2, 1, 3).reshape(b, n, -1))


class SwiGLU(nn.Module):
    def __init__(self, c, f):
        super().__init__()
        self.gate_proj = nn.Linear(c, f, bias=False)
        self.up_proj = nn.Linear(c, f, bias=False)
        self.down_proj = nn.Linear(f, c, bias=False)

    def forward(self, y):
        both = F.linear(y, torch.cat((self.gate_proj.weight, self.up_proj.weight)))
        left, right = both.chunk(2, dim=-1)
        return self.down_proj(left * F.silu(right))  # first wrong


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.input_norm = nn.RMSNorm(d_model, eps=eps)
        self.post_norm = nn.RMSNorm(d_model, eps=eps)
        self.attn = LlamaAttention(d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base)
        self.mlp = SwiGLU(d_model, hidden_dim)

    def forward(self, x, position_ids=None):
        p = torch.arange(x.shape[1])[None] if position_ids is None else position_ids
        x = x + self.attn(self.input_norm(x), p)
        x = x + self.mlp(self.post_norm(x))
        return x
