# mistakes: position-ids-ignored
"""Small modules inside the module: a rotary one, a core, a projection into heads."""

import torch
import torch.nn.functional as F
from torch import nn


class Rotary(nn.Module):
    def __init__(self, dim, rows, base):
        super().__init__()
        inv_freq = base ** -(torch.arange(0, dim, 2, dtype=torch.float32) / dim)
        emb = torch.einsum("t,f->tf", torch.arange(rows, dtype=torch.float32), inv_freq).repeat(1, 2)
        self.register_buffer("cos", emb.cos(), persistent=False)
        self.register_buffer("sin", emb.sin(), persistent=False)

    def forward(self, q, k, position_ids=None):
        n = q.size(2)
        cos, sin = self.cos[:n], self.sin[:n]  # first wrong
        return q * cos + self.half(q) * sin, k * cos + self.half(k) * sin

    @staticmethod
    def half(t):
        one, two = t.split(t.size(-1) // 2, dim=-1)
        return torch.cat((two.neg(), one), dim=-1)


class ToHeads(nn.Module):
    def __init__(self, width, heads, dim):
        super().__init__()
        self.heads = heads
        self.proj = nn.Linear(width, heads * dim, bias=False)

    def forward(self, x):
        return self.proj(x).unflatten(2, (self.heads, -1)).transpose(1, 2)


class Core(nn.Module):
    def forward(self, q, k, v, mask):
        times = q.size(1) // k.size(1)
        k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        scores = q.matmul(k.mT).div(q.size(-1) ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return F.softmax(scores, dim=-1).matmul(v)


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("heads do not divide the width")
        if num_heads % num_kv_heads != 0:
            raise ValueError("key/value heads do not divide the heads")
        dim = d_model // num_heads
        self.query = ToHeads(d_model, num_heads, dim)
        self.key = ToHeads(d_model, num_kv_heads, dim)
        self.value = ToHeads(d_model, num_kv_heads, dim)
        self.output = nn.Linear(d_model, d_model, bias=False)
        self.rotary = Rotary(dim, max_seq_len, rope_base)
        self.core = Core()

    def forward(self, x, mask=None, position_ids=None):
        q, k = self.rotary(self.query(x), self.key(x), position_ids)
        y = self.core(q, k, self.value(x), mask)
        return self.output(y.transpose(1, 2).flatten(2))
