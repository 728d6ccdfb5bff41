# mistakes: dropout-on-output
"""A nested function for one projection, the rotation with addcmul, scores shifted by their log of the sum."""

import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads has to divide d_model")
        self.n_head, self.d_head = num_heads, d_model // num_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)
        col = torch.arange(self.d_head) % (self.d_head // 2)
        phase = torch.arange(max_seq_len)[:, None] * rope_base ** (-2 * col / self.d_head)
        flip = torch.where(torch.arange(self.d_head) < self.d_head // 2, -1.0, 1.0)
        self.register_buffer("rows", torch.cat((phase.cos(), phase.sin() * flip), dim=1), persistent=False)

    def forward(self, x, mask=None, position_ids=None):
        b, n, m = x.shape
        rows = self.rows[:n] if position_ids is None else self.rows[position_ids].unsqueeze(1)
        cos, sin = rows.split(self.d_head, dim=-1)
        fused = self.c_attn(x)

        def part(i):
            return fused[..., i * m : (i + 1) * m].unflatten(-1, (self.n_head, self.d_head)).transpose(1, 2)

        def turned(t):
            return torch.addcmul(t * cos, t.roll(self.d_head // 2, dims=-1), sin)

        q, k, v = turned(part(0)), turned(part(1)), part(2)
        s = torch.matmul(q, k.transpose(2, 3)) / self.d_head**0.5
        if mask is not None:
            s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
        w = torch.exp(s - s.logsumexp(dim=-1, keepdim=True))
        out = torch.matmul(w, v)  # first wrong
        out = self.drop(out)
        out = out.transpose(1, 2).reshape(b, n, m)
        return self.c_proj(out)
