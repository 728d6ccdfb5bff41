# mistakes: half-split, scale-without-root
"""A layer class for the projections to heads; the parts are rotated as in Llama; a stable softmax."""

import torch
from torch import nn


class ToHeads(nn.Linear):
    def __init__(self, inputs, heads, width):
        super().__init__(inputs, heads * width, bias=False)
        self.heads = heads

    def forward(self, x):
        return super().forward(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = ToHeads(q_rank, num_heads, nope_dim)
        self.q_rope = ToHeads(q_rank, num_heads, rope_dim)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = ToHeads(kv_rank, num_heads, nope_dim)
        self.v_up = ToHeads(kv_rank, num_heads, v_dim)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)
        self.rope_dim, self.rope_base, self.total_dim = rope_dim, rope_base, nope_dim + rope_dim

    def rotary(self, x, start):
        stop = start + x.shape[-2]
        inv_freq = self.rope_base ** -(torch.arange(0, self.rope_dim, 2) / self.rope_dim)
        freqs = torch.outer(torch.arange(start, stop).float(), inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        return (x * emb.cos() + rotate_half(x) * emb.sin()).to(x.dtype)  # first wrong

    def forward(self, x, cache=None):
        past = 0
        new_latent = self.kv_down(x)
        if cache is not None:
            past = cache[0].shape[1]
        new_rotary = self.rotary(self.k_rope(x), past)
        latent, rotary = new_latent, new_rotary
        if cache is not None:
            latent = torch.cat((cache[0], new_latent), dim=1)
            rotary = torch.cat((cache[1], new_rotary), dim=1)
        query = self.q_down(x)
        by_content = self.q_up(query) @ self.k_up(latent).transpose(2, 3)
        by_place = self.rotary(self.q_rope(query), past) @ rotary[:, None].transpose(2, 3)
        scores = (by_content + by_place) / self.total_dim  # also wrong
        rows = torch.arange(past, latent.shape[1])[:, None]
        scores = scores.masked_fill(rows < torch.arange(latent.shape[1]), float("-inf"))
        lifted = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        weights = lifted / lifted.sum(dim=-1, keepdim=True)
        heads = weights @ self.v_up(latent)
        return self.o_proj(heads.transpose(1, 2).flatten(2)), (latent, rotary)
