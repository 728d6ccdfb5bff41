"""Keep the heads on the third axis, and let einsum do the transposes.

The FLOPs and the joined queries and keys are those of the reference. The code needs fewer
transposes, but einsum makes them internally.
"""

import math

import torch
from torch import nn


def linear(wide, narrow):
    return nn.Linear(wide, narrow, bias=False)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.H, self.dn, self.dr, self.dv, self.base = num_heads, nope_dim, rope_dim, v_dim, rope_base
        self.q_down, self.q_up, self.q_rope = linear(d_model, q_rank), linear(q_rank, num_heads * nope_dim), linear(q_rank, num_heads * rope_dim)
        self.kv_down, self.k_up, self.v_up = linear(d_model, kv_rank), linear(kv_rank, num_heads * nope_dim), linear(kv_rank, num_heads * v_dim)
        self.k_rope, self.o_proj = linear(d_model, rope_dim), linear(num_heads * v_dim, d_model)

    def rotate(self, x, positions):  # x [B, L, h, dr]
        theta = 1.0 / self.base ** (torch.arange(0, self.dr, 2).float() / self.dr)
        angle = positions.float()[..., None] * theta
        cos, sin = angle.cos()[:, :, None], angle.sin()[:, :, None]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)

    def forward(self, x, mask=None, position_ids=None):
        B, L, _ = x.shape
        positions = torch.arange(L, device=x.device)[None].expand(B, L) if position_ids is None else position_ids
        cq, ckv = self.q_down(x), self.kv_down(x)
        qr = self.rotate(self.q_rope(cq).view(B, L, self.H, self.dr), positions)
        kr = self.rotate(self.k_rope(x)[:, :, None], positions)
        q = torch.cat([self.q_up(cq).view(B, L, self.H, self.dn), qr], -1)
        k = torch.cat([self.k_up(ckv).view(B, L, self.H, self.dn), kr.expand(-1, -1, self.H, -1)], -1)
        v = self.v_up(ckv).view(B, L, self.H, self.dv)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(self.dn + self.dr)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return self.o_proj(torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).reshape(B, L, -1))
