# mistakes: heads-tiled
"""Grouped einsum without copies of k and v; sines and cosines made on the spot."""

import torch
import torch.nn as nn
from torch import einsum


def spin(t, angle):
    half = t.shape[-1] // 2
    lo, hi = t[..., :half], t[..., half:]
    c, s = angle.cos().to(t.dtype), angle.sin().to(t.dtype)
    return torch.cat([lo * c - hi * s, hi * c + lo * s], dim=-1)


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model} % {num_heads}"
        assert num_heads % num_kv_heads == 0, f"{num_heads} % {num_kv_heads}"
        self.kv, self.rep, self.dim = num_kv_heads, num_heads // num_kv_heads, d_model // num_heads
        self.base = rope_base
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, self.kv * self.dim, bias=False)
        self.wv = nn.Linear(d_model, self.kv * self.dim, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None, position_ids=None):
        b, n, _ = x.shape
        pos = torch.arange(n, device=x.device).expand(b, n) if position_ids is None else position_ids
        rate = self.base ** (-torch.arange(0, self.dim, 2, device=x.device).float() / self.dim)
        angle = einsum("bn,f->bnf", pos.float(), rate)[:, :, None]
        q = self.wq(x).view(b, n, self.rep, self.kv, self.dim)  # first wrong
        k = self.wk(x).view(b, n, self.kv, self.dim)
        v = self.wv(x).view(b, n, self.kv, self.dim)
        q, k = spin(q, angle[:, :, None]), spin(k, angle)
        s = einsum("birgd,bjgd->brgij", q, k) / self.dim**0.5
        if mask is not None:
            seen = mask.expand(b, self.rep * self.kv, n, n).unflatten(1, (self.rep, self.kv))
            s = s.masked_fill(~seen, float("-inf"))
        y = einsum("brgij,bjgd->birgd", s.softmax(-1), v)
        return self.wo(y.reshape(b, n, -1))
