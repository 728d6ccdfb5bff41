"""Begin with an empty cache, so that one branch serves all calls, and rotate with doubled tables.

Positions decide what a token sees: a key is hidden if its position is larger than the query's. The
cosines are rounded to the dtype of x before they multiply, which loses digits in bfloat16.
"""

import math
import torch
import torch.nn as nn


def rope_angles(positions, dim, base):
    theta = base ** (-torch.arange(0, dim, 2, device=positions.device).float() / dim)
    ang = positions.float()[:, None] * theta[None, :]
    ang = ang.repeat_interleave(2, dim=-1)
    return ang.cos(), ang.sin()


def rotate_every_two(x):
    x1 = x[..., ::2]
    x2 = x[..., 1::2]
    return torch.stack((-x2, x1), dim=-1).flatten(-2)


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.h, self.dn, self.dr, self.dv = num_heads, nope_dim, rope_dim, v_dim
        self.base = rope_base
        lin = lambda i, o: nn.Linear(i, o, bias=False)
        self.q_down, self.q_up, self.q_rope = lin(d_model, q_rank), lin(q_rank, num_heads * nope_dim), lin(q_rank, num_heads * rope_dim)
        self.kv_down, self.k_up, self.v_up = lin(d_model, kv_rank), lin(kv_rank, num_heads * nope_dim), lin(kv_rank, num_heads * v_dim)
        self.k_rope = lin(d_model, rope_dim)
        self.o_proj = lin(num_heads * v_dim, d_model)

    def forward(self, x, cache=None):
        B, L, _ = x.shape
        if cache is None:
            cache = (x.new_zeros(B, 0, self.kv_down.out_features), x.new_zeros(B, 0, self.dr))
        P = cache[0].size(1)
        pos = torch.arange(P, P + L, device=x.device)
        cos, sin = rope_angles(pos, self.dr, self.base)
        cos, sin = cos.to(x.dtype), sin.to(x.dtype)

        cq = self.q_down(x)
        qn = self.q_up(cq).view(B, L, self.h, self.dn).transpose(1, 2)
        qr = self.q_rope(cq).view(B, L, self.h, self.dr).transpose(1, 2)
        qr = qr * cos + rotate_every_two(qr) * sin

        kr = self.k_rope(x)
        kr = kr * cos + rotate_every_two(kr) * sin
        c_kv = torch.cat([cache[0], self.kv_down(x)], dim=1)
        kr = torch.cat([cache[1], kr], dim=1)
        T = P + L

        kn = self.k_up(c_kv).view(B, T, self.h, self.dn).transpose(1, 2)
        v = self.v_up(c_kv).view(B, T, self.h, self.dv).transpose(1, 2)
        k = torch.cat([kn, kr[:, None].expand(-1, self.h, -1, -1)], dim=-1)
        q = torch.cat([qn, qr], dim=-1)

        scores = q @ k.transpose(-2, -1) / math.sqrt(self.dn + self.dr)
        future = torch.arange(T, device=x.device)[None, :] > pos[:, None]
        scores = scores.masked_fill(future, float("-inf"))
        out = scores.softmax(-1) @ v
        out = out.transpose(1, 2).reshape(B, L, self.h * self.dv)
        return self.o_proj(out), (c_kv, kr)
