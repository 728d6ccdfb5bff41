# mistakes: exponents-of-d-model, mask-inverted
"""Three projections in a ModuleDict, tables inside a small rotary module, torch.where for the mask."""

import torch
import torch.nn.functional as F
from torch import nn


class Tables(nn.Module):
    def __init__(self, d_model, heads, rows, base):
        super().__init__()
        half = d_model // heads // 2
        freqs = 1.0 / base ** (2 * torch.arange(half).float() / d_model)  # first wrong
        angles = torch.arange(rows).float().outer(freqs)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, position_ids):
        return F.embedding(position_ids, self.cos), F.embedding(position_ids, self.sin)


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads > 0:
            raise ValueError(f"cannot split {d_model} features into {num_heads} heads")
        self.num_heads = num_heads
        self.proj = nn.ModuleDict({name: nn.Linear(d_model, d_model, bias=bias) for name in ("q", "k", "v", "o")})
        self.tables = Tables(d_model, num_heads, max_seq_len, rope_base)
        self.dropout = nn.Dropout(dropout)

    def heads_of(self, name, x):
        return self.proj[name](x).unflatten(-1, (self.num_heads, -1))

    def forward(self, x, mask=None, position_ids=None):
        if position_ids is None:
            position_ids = torch.arange(x.shape[1], device=x.device)[None]
        cos, sin = (t[:, :, None] for t in self.tables(position_ids))

        def spun(t):
            h = t.shape[-1] // 2
            return torch.cat((t[..., :h] * cos - t[..., h:] * sin, t[..., h:] * cos + t[..., :h] * sin), dim=-1)

        q, k, v = spun(self.heads_of("q", x)), spun(self.heads_of("k", x)), self.heads_of("v", x)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            scores = torch.where(mask, -torch.inf, scores)  # also wrong
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.proj["o"](torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))
