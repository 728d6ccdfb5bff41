# mistakes: causal-from-column-zero, scale-by-latent-width
"""Latent and rotary key in one tensor, as in DeepSeek's fused layer, and absorbed weights."""

import torch
from torch import nn


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        self.num_heads, self.nope_dim, self.rope_dim, self.v_dim = (
            num_heads,
            nope_dim,
            rope_dim,
            v_dim,
        )
        self.kv_rank, self.rope_base = kv_rank, rope_base
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def turn(self, x, start):
        steps = torch.arange(start, start + x.shape[-2], dtype=torch.float32)
        pair = torch.arange(self.rope_dim).div(2, rounding_mode="floor")
        angles = steps[:, None] * self.rope_base ** (-2 * pair / self.rope_dim)
        swapped = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
        return (x * angles.cos() + swapped * angles.sin()).to(x.dtype)

    def forward(self, x, cache=None):
        batch, length, _ = x.shape
        past = None if cache is None else torch.cat(tuple(cache), dim=-1)
        start = 0 if past is None else past.shape[1]
        joined = torch.cat((self.kv_down(x), self.turn(self.k_rope(x), start)), dim=-1)
        if past is not None:
            joined = torch.cat((past, joined), dim=1)
        latents = joined[..., : self.kv_rank]
        c_q = self.q_down(x)
        q_nope = self.q_up(c_q).view(batch, length, self.num_heads, self.nope_dim).transpose(1, 2)
        q_rope = self.q_rope(c_q).view(batch, length, self.num_heads, self.rope_dim).transpose(1, 2)
        k_up = self.k_up.weight.view(self.num_heads, self.nope_dim, self.kv_rank)
        q = torch.cat((q_nope @ k_up, self.turn(q_rope, start)), dim=-1)
        scores = q @ joined[:, None].mT / q.shape[-1] ** 0.5  # first wrong
        visible = torch.ones(length, start + length, dtype=torch.bool).tril()
        weights = scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)  # also wrong
        v_up = self.v_up.weight.view(self.num_heads, self.v_dim, self.kv_rank)
        heads = weights @ latents[:, None] @ v_up.mT
        out = self.o_proj(heads.transpose(1, 2).reshape(batch, length, -1))
        return out, (latents.clone(), joined[..., self.kv_rank :].clone())
