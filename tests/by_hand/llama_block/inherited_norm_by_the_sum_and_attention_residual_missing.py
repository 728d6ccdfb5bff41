# mistakes: norm-by-the-sum, attention-residual-missing
"""A base class adds the branch; the norm divides by the length of the vector."""

import torch
from torch import nn
from torch.nn.functional import silu


class UnitNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, t):
        wide = t.to(torch.promote_types(t.dtype, torch.float32))
        squared = torch.einsum("...m,...m->...", wide, wide).unsqueeze(-1)
        return (wide / torch.sqrt(squared + self.eps) * self.weight).to(t.dtype)  # first wrong


class Attention(nn.Module):
    def __init__(self, width, heads, kv, dim, rows, base):
        super().__init__()
        if dim is None and width % heads:
            raise ValueError("heads")
        if heads % kv:
            raise ValueError("kv")
        self.heads, self.kv, self.dim = heads, kv, dim or width // heads
        self.qkv = nn.Linear(width, (heads + 2 * kv) * self.dim, bias=False)
        self.proj = nn.Linear(heads * self.dim, width, bias=False)
        rates = base ** (-2 * torch.arange(self.dim // 2) / self.dim)
        angles = torch.arange(rows).unsqueeze(-1) * rates
        self.register_buffer("turn", torch.stack((angles.cos(), angles.sin()), -1), persistent=False)

    def forward(self, t, where):
        b, n, _ = t.shape
        q, k, v = self.qkv(t).split([self.heads * self.dim, self.kv * self.dim, self.kv * self.dim], -1)
        cos, sin = self.turn[where].unsqueeze(1).unbind(-1)
        parts = []
        for u in (q, k):
            a, c = u.view(b, n, -1, 2, self.dim // 2).transpose(1, 2).unbind(3)
            parts.append(torch.cat((a * cos - c * sin, c * cos + a * sin), -1))
        q = parts[0].unflatten(1, (self.kv, -1))
        k, v = parts[1].unsqueeze(2), v.view(b, n, -1, self.dim).transpose(1, 2).unsqueeze(2)
        scores = torch.matmul(q, k.mT) / self.dim**0.5
        scores = scores + torch.ones(n, n, dtype=scores.dtype).triu(1) * -1e9
        return self.proj(torch.matmul(scores.softmax(-1), v).flatten(1, 2).transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, t):
        return self.down_proj(silu(self.gate_proj(t)) * self.up_proj(t))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.input_norm = UnitNorm(d_model, eps)
        self.attn = Attention(d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base)
        self.post_norm = UnitNorm(d_model, eps)
        self.mlp = SwiGLU(d_model, hidden_dim)

    def forward(self, x, position_ids=None):
        if position_ids is None:
            position_ids = torch.arange(x.shape[1]).unsqueeze(0)
        x = self.attn(self.input_norm(x), position_ids)  # also wrong
        return x + self.mlp(self.post_norm(x))
