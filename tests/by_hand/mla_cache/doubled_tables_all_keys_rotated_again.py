# mistakes: all-keys-rotated-again
"""Tables with every angle twice, rotate_every_two, and an empty cache to begin with."""

import math

import torch
import torch.nn as nn


def rotate_every_two(t):
    return torch.stack((-t[..., 1::2], t[..., ::2]), dim=-1).flatten(-2)


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        self.h, self.dn, self.dr, self.dv, self.base = (
            num_heads,
            nope_dim,
            rope_dim,
            v_dim,
            rope_base,
        )

        def lin(i, o):
            return nn.Linear(i, o, bias=False)

        self.q_down, self.q_up, self.q_rope = (
            lin(d_model, q_rank),
            lin(q_rank, num_heads * nope_dim),
            lin(q_rank, num_heads * rope_dim),
        )
        self.kv_down, self.k_up, self.v_up = (
            lin(d_model, kv_rank),
            lin(kv_rank, num_heads * nope_dim),
            lin(kv_rank, num_heads * v_dim),
        )
        self.k_rope = lin(d_model, rope_dim)
        self.o_proj = lin(num_heads * v_dim, d_model)

    def tables(self, places):
        theta = self.base ** (-torch.arange(0, self.dr, 2).float() / self.dr)
        angle = (places.float()[:, None] * theta).repeat_interleave(2, dim=-1)
        return angle.cos(), angle.sin()

    def rope(self, t, places):
        cos, sin = self.tables(places)
        return (t * cos + rotate_every_two(t) * sin).to(t.dtype)

    def forward(self, x, cache=None):
        B, L, _ = x.shape
        if cache is None:
            cache = (x.new_zeros(B, 0, self.kv_down.out_features), x.new_zeros(B, 0, self.dr))
        P = cache[0].size(1)
        T = P + L
        cq = self.q_down(x)
        qn = self.q_up(cq).view(B, L, self.h, self.dn).transpose(1, 2)
        qr = self.q_rope(cq).view(B, L, self.h, self.dr).transpose(1, 2)
        qr = self.rope(qr, torch.arange(P, T))

        latent = torch.cat([cache[0], self.kv_down(x)], dim=1)
        kr = torch.cat([cache[1], self.k_rope(x)], dim=1)
        kr = self.rope(kr, torch.arange(T))  # first wrong

        kn = self.k_up(latent).view(B, T, self.h, self.dn).transpose(1, 2)
        v = self.v_up(latent).view(B, T, self.h, self.dv).transpose(1, 2)
        k = torch.cat([kn, kr[:, None].expand(-1, self.h, -1, -1)], dim=-1)
        q = torch.cat([qn, qr], dim=-1)
        s = q @ k.transpose(-2, -1) / math.sqrt(self.dn + self.dr)
        s = s.masked_fill(torch.arange(T) > torch.arange(P, T)[:, None], float("-inf"))
        o = s.softmax(-1) @ v
        return self.o_proj(o.transpose(1, 2).reshape(B, L, self.h * self.dv)), (latent, kr)
