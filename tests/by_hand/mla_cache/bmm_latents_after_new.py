# mistakes: latents-after-new
"""Heads folded into the batch, baddbmm on the causal bias, F.linear with parts of the weights."""

import torch
import torch.nn.functional as F
from torch import nn


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        self.n, self.dn, self.dr, self.dv, self.theta = (
            num_heads,
            nope_dim,
            rope_dim,
            v_dim,
            rope_base,
        )
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def fold(self, t):
        b, l, w = t.shape
        return (
            t.reshape(b, l, self.n, w // self.n).transpose(1, 2).reshape(b * self.n, l, w // self.n)
        )

    def spin(self, t, offset):
        l = t.shape[-2]
        freq = torch.exp(
            -torch.arange(0, self.dr, 2).double()
            / self.dr
            * torch.tensor(self.theta).double().log()
        )
        phase = (torch.arange(offset, offset + l).double()[:, None] * freq).float()
        c, s = phase.cos(), phase.sin()
        even, odd = t[..., 0::2], t[..., 1::2]
        return (
            torch.stack([even * c - odd * s, odd * c + even * s], dim=-1)
            .reshape(t.shape)
            .to(t.dtype)
        )

    def forward(self, x, cache=None):
        b, l, _ = x.shape
        cq = F.linear(x, self.q_down.weight)
        ckv = F.linear(x, self.kv_down.weight)
        p = 0
        kr = F.linear(x, self.k_rope.weight)
        if cache is not None:
            p = cache[0].shape[1]
        kr = self.spin(kr, p)
        if cache is not None:
            ckv = torch.cat([ckv, cache[0]], dim=1)  # first wrong
            kr = torch.cat([cache[1], kr], dim=1)
        t = p + l
        q = torch.cat(
            [
                self.fold(F.linear(cq, self.q_up.weight)),
                self.spin(self.fold(F.linear(cq, self.q_rope.weight)), p),
            ],
            -1,
        )
        shared = kr[:, None].expand(b, self.n, t, self.dr).reshape(b * self.n, t, self.dr)
        k = torch.cat([self.fold(F.linear(ckv, self.k_up.weight)), shared], -1)
        v = self.fold(F.linear(ckv, self.v_up.weight))
        bias = torch.zeros(l, t, dtype=x.dtype).masked_fill(
            torch.ones(l, t).triu(p + 1) > 0, float("-inf")
        )
        s = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=(self.dn + self.dr) ** -0.5)
        o = torch.bmm(torch.softmax(s, -1), v)
        o = o.reshape(b, self.n, l, self.dv).transpose(1, 2).reshape(b, l, self.n * self.dv)
        return F.linear(o, self.o_proj.weight), (ckv, kr)
