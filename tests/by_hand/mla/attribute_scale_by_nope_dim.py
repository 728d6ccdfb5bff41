# mistakes: scale-by-nope-dim
"""The scores are scaled for nope_dim features only, although a query has rope_dim more."""

import torch
from torch import nn


class InterleavedRope(nn.Module):
    def __init__(self, dim, base):
        super().__init__()
        self.dim, self.base = dim, base

    def forward(self, x, pos):
        f = self.base ** -(torch.arange(0, self.dim, 2, device=x.device, dtype=torch.float32) / self.dim)
        theta = (pos[..., None].float() * f).unsqueeze(-3)
        c, s = torch.cos(theta), torch.sin(theta)
        a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2).type_as(x)


class Heads(nn.Module):
    """[B, L, H * d] -> [B, H, L, d]"""

    def __init__(self, h):
        super().__init__()
        self.h = h

    def forward(self, t):
        return t.unflatten(-1, (self.h, -1)).transpose(1, 2)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        lin = lambda i, o: nn.Linear(i, o, bias=False)
        self.q_down, self.kv_down = lin(d_model, q_rank), lin(d_model, kv_rank)
        self.q_up, self.q_rope = lin(q_rank, num_heads * nope_dim), lin(q_rank, num_heads * rope_dim)
        self.k_up, self.v_up = lin(kv_rank, num_heads * nope_dim), lin(kv_rank, num_heads * v_dim)
        self.k_rope = lin(d_model, rope_dim)
        self.o_proj = lin(num_heads * v_dim, d_model)
        self.split = Heads(num_heads)
        self.rope = InterleavedRope(rope_dim, rope_base)
        self.scale = nope_dim**-0.5  # first wrong

    def forward(self, x, mask=None, position_ids=None):
        pos = position_ids if position_ids is not None else torch.arange(x.size(1), device=x.device)[None]
        cq, ckv = self.q_down(x), self.kv_down(x)
        qn, qr = self.split(self.q_up(cq)), self.rope(self.split(self.q_rope(cq)), pos)
        kn, v = self.split(self.k_up(ckv)), self.split(self.v_up(ckv))
        kr = self.rope(self.k_rope(x)[:, None], pos)
        q = torch.cat([qn, qr], -1)
        k = torch.cat([kn, kr.expand(-1, kn.size(1), -1, -1)], -1)
        att = (q @ k.mT) * self.scale
        if mask is not None:
            att = att.masked_fill(mask.logical_not(), -torch.inf)
        y = att.softmax(-1) @ v
        return self.o_proj(y.transpose(1, 2).flatten(2))
