# mistakes: scale-by-nope-dim
"""Every layer's weight cut by heads and used in an einsum; heads stay on the third axis; the scale sits on the queries."""

import math

import torch
from torch import einsum, nn


def swirl(t, cos, sin):
    """t [B, L, h, Dr]; cos and sin [B, L, 1, Dr], each value twice in a row."""
    quarter = torch.empty_like(t)
    quarter[..., 0::2] = -t[..., 1::2]
    quarter[..., 1::2] = t[..., 0::2]
    return t * cos + quarter * sin


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.h, self.n, self.r, self.base = num_heads, nope_dim, rope_dim, rope_base
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def up(self, latent, layer):
        return einsum("blr,hdr->blhd", latent, layer.weight.unflatten(0, (self.h, -1)))

    def forward(self, x, mask=None, position_ids=None):
        if position_ids is None:
            position_ids = torch.arange(x.shape[1], device=x.device)[None]
        freqs = self.base ** (torch.arange(self.r // 2, device=x.device) * (-2.0 / self.r))
        phase = (position_ids[:, :, None] * freqs).repeat_interleave(2, dim=-1)[:, :, None]
        cos, sin = phase.cos().to(x.dtype), phase.sin().to(x.dtype)

        a = self.q_down(x)
        c = self.kv_down(x)
        q = torch.cat([self.up(a, self.q_up), swirl(self.up(a, self.q_rope), cos, sin)], dim=-1)
        q = q / math.sqrt(self.n)  # first wrong
        rotary = swirl(self.k_rope(x)[:, :, None], cos, sin)
        k = torch.cat([self.up(c, self.k_up), rotary.repeat(1, 1, self.h, 1)], dim=-1)
        v = self.up(c, self.v_up)

        logits = einsum("bihd,bjhd->bhij", q, k)
        if mask is not None:
            logits = torch.where(mask, logits, -torch.inf)
        mixed = einsum("bhij,bjhd->bihd", logits.softmax(-1), v)
        return einsum("bihd,mhd->bim", mixed, self.o_proj.weight.unflatten(1, (self.h, -1)))
