"""Fold batch and heads into one axis for baddbmm, rotate by a roll, and use F.rms_norm.

One baddbmm scales the scores and adds the mask while it multiplies. Keys and values are repeated
before the rotation, which costs H / Hkv times as many rotations of keys.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Rotary:
    def __init__(self, dim, rows, base):
        half = torch.arange(dim // 2, dtype=torch.float64).repeat(2)
        angle = torch.arange(rows, dtype=torch.float64).unsqueeze(1) * base ** (-2 * half / dim)
        self.cos, self.sin = angle.cos(), angle.sin()
        self.sin[:, : dim // 2] *= -1

    def __call__(self, t, at):
        # t [B, L, heads, D], at [B or 1, L]
        cos, sin = (table.to(t)[at].unsqueeze(2) for table in (self.cos, self.sin))
        return t * cos + torch.roll(t, t.shape[-1] // 2, dims=-1) * sin


class Attn(nn.Module):
    def __init__(self, width, heads, kv_heads, size, rows, base):
        super().__init__()
        if size is None and width % heads != 0:
            raise ValueError(f"{width} % {heads} = {width % heads}")
        if heads % kv_heads != 0:
            raise ValueError(f"{heads} % {kv_heads} = {heads % kv_heads}")
        size = size or width // heads
        self.heads, self.kv_heads, self.rotary = heads, kv_heads, Rotary(size, rows, base)
        self.to_q = nn.Linear(width, heads * size, bias=False)
        self.to_kv = nn.Linear(width, 2 * kv_heads * size, bias=False)
        self.to_out = nn.Sequential(nn.Linear(heads * size, width, bias=False))

    def forward(self, y, at):
        b, n, _ = y.shape
        q = self.to_q(y).unflatten(-1, (self.heads, -1))
        k, v = self.to_kv(y).reshape(b, n, 2, self.kv_heads, -1).unbind(2)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=2) for t in (k, v))
        q, k, v = (t.transpose(1, 2).flatten(0, 1) for t in (self.rotary(q, at), self.rotary(k, at), v))
        later = torch.arange(n, device=y.device)[None] > torch.arange(n, device=y.device)[:, None]
        bias = torch.zeros(n, n, dtype=y.dtype, device=y.device).masked_fill_(later, float("-inf"))
        scores = torch.baddbmm(bias.expand(b * self.heads, n, n), q, k.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
        mixed = torch.bmm(F.softmax(scores, dim=2, dtype=torch.promote_types(y.dtype, torch.float32)).to(v), v)
        return self.to_out(mixed.view(b, self.heads, n, -1).transpose(1, 2).reshape(b, n, -1))


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, hidden, False), nn.Linear(width, hidden, False)
        self.down_proj, self.act = nn.Linear(hidden, width, False), nn.SiLU()

    def forward(self, y):
        return self.down_proj(self.act(self.gate_proj(y)) * self.up_proj(y))


class Norm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, y):
        return F.rms_norm(y, (y.shape[-1],), self.weight, self.eps)


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.input_norm, self.post_norm = Norm(d_model, eps), Norm(d_model, eps)
        self.attn = Attn(d_model, num_heads, num_kv_heads, head_dim, max_seq_len, rope_base)
        self.mlp = Mlp(d_model, hidden_dim)

    def forward(self, x, position_ids=None):
        at = torch.arange(x.shape[1], device=x.device)[None] if position_ids is None else position_ids
        h = x + self.attn(self.input_norm(x), at)
        return h + self.mlp(self.post_norm(h))
