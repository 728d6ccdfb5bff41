# mistakes: rotated-without-gradient
"""Angles of the positions that occur, made at every call and kept out of the graph; heads stay on axis 2."""

import torch
from torch import nn


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        if d_model % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError("sizes do not divide")
        self.nh, self.nkv, self.size = num_heads, num_kv_heads, d_model // num_heads
        self.rope_base = rope_base
        kv_size = num_kv_heads * self.size
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_kv = nn.ModuleList([nn.Linear(d_model, kv_size, bias=False), nn.Linear(d_model, kv_size, bias=False)])
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None, position_ids=None):
        b, n, m = x.shape
        q = self.w_q(x).view(b, n, self.nh, self.size)
        k, v = [layer(x).view(b, n, self.nkv, self.size) for layer in self.w_kv]
        where = torch.arange(n, device=x.device).expand(b, n) if position_ids is None else position_ids

        with torch.no_grad():
            i = torch.arange(self.size // 2, device=x.device, dtype=torch.float32)
            angle = where.float()[:, :, None, None] * self.rope_base ** (-2 * i / self.size)
            angle = torch.cat((angle, angle), dim=-1)
            cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
            q = q * cos + self.quarter(q) * sin  # first wrong
            k = k * cos + self.quarter(k) * sin

        k = k[:, :, :, None].expand(b, n, self.nkv, self.nh // self.nkv, self.size).flatten(2, 3)
        v = v[:, :, :, None].expand(b, n, self.nkv, self.nh // self.nkv, self.size).flatten(2, 3)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.size**0.5
        if mask is not None:
            scores = torch.where(mask, scores, float("-inf"))
        out = torch.einsum("bhqk,bkhd->bqhd", torch.softmax(scores, dim=-1), v)
        return self.w_o(out.reshape(b, n, m))

    def quarter(self, t):
        out = torch.empty_like(t)
        out[..., : self.size // 2] = -t[..., self.size // 2 :]
        out[..., self.size // 2 :] = t[..., : self.size // 2]
        return out
