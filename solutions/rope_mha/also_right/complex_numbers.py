"""Rotate pairs as complex numbers, and make the angles in every call.

No table is stored and positions have no limit, but every call recomputes the cosines and sines.
torch.compile generates no fused code for complex numbers.
"""

import torch
import torch.nn as nn


def as_complex(t):
    halves = torch.stack(t.float().chunk(2, dim=-1), dim=-1) if t.dtype == torch.bfloat16 else torch.stack(t.chunk(2, dim=-1), dim=-1)
    return torch.view_as_complex(halves.contiguous())


def as_halves(z):
    return torch.cat((z.real, z.imag), dim=-1)


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model} % {num_heads} != 0"
        self.h, self.d = num_heads, d_model // num_heads
        self.max_seq_len, self.base = max_seq_len, rope_base
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None, position_ids=None):
        b, n, m = x.shape
        q, k, v = self.c_attn(x).view(b, n, 3, self.h, self.d).permute(2, 0, 3, 1, 4)
        t = torch.arange(n, device=x.device).expand(b, n) if position_ids is None else position_ids
        rates = self.base ** (torch.arange(self.d // 2, device=x.device, dtype=torch.float32) * (-2 / self.d))
        angles = t.float().unsqueeze(-1) * rates  # [b, n, d/2]
        turn = torch.polar(torch.ones_like(angles), angles).unsqueeze(1)
        q = as_halves(as_complex(q) * turn).to(x.dtype)
        k = as_halves(as_complex(k) * turn).to(x.dtype)
        s = torch.einsum("bhid,bhjd->bhij", q, k) * self.d**-0.5
        if mask is not None:
            s = torch.where(mask, s, torch.finfo(s.dtype).min)
        w = self.attn_dropout(s.softmax(dim=-1))
        return self.c_proj(torch.einsum("bhij,bhjd->bihd", w, v).reshape(b, n, m))
