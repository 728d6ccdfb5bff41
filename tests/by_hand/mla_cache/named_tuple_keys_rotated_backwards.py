# mistakes: keys-rotated-backwards
"""A named tuple as the cache, with a method that extends it; sine and cosine from numpy."""

from typing import NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor, nn


class LatentCache(NamedTuple):
    latents: Tensor
    rotary: Tensor

    def extended(self, latents: Tensor, rotary: Tensor) -> "LatentCache":
        return LatentCache(
            torch.cat((self.latents, latents), 1), torch.cat((self.rotary, rotary), 1)
        )


def sine_and_cosine(first: int, count: int, width: int, base: float):
    angle = np.arange(first, first + count)[:, None] * base ** (-np.arange(0, width, 2) / width)
    return torch.from_numpy(np.sin(angle)).float(), torch.from_numpy(np.cos(angle)).float()


def turned(x: Tensor, sin: Tensor, cos: Tensor) -> Tensor:
    pairs = x.unflatten(-1, (-1, 2))
    first, second = pairs.unbind(-1)
    out = torch.stack((first * cos - second * sin, first * sin + second * cos), -1)
    return out.flatten(-2).to(x.dtype)


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        q_rank: int,
        kv_rank: int,
        nope_dim: int,
        rope_dim: int,
        v_dim: int,
        rope_base: float = 10000.0,
    ):
        super().__init__()
        self.num_heads, self.rope_dim, self.rope_base = num_heads, rope_dim, rope_base
        self.divisor = float(nope_dim + rope_dim) ** 0.5
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def per_head(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).movedim(2, 1)

    def forward(self, x: Tensor, cache: Optional[tuple] = None):
        old = None if cache is None else LatentCache(*cache)
        first = 0 if old is None else old.latents.size(1)
        sin, cos = sine_and_cosine(first, x.size(1), self.rope_dim, self.rope_base)
        query = self.q_down(x)
        q = torch.cat(
            (self.per_head(self.q_up(query)), turned(self.per_head(self.q_rope(query)), sin, cos)),
            -1,
        )
        latents, rotary = self.kv_down(x), turned(self.k_rope(x), -sin, cos)  # first wrong
        new = LatentCache(latents, rotary) if old is None else old.extended(latents, rotary)
        keys = self.per_head(self.k_up(new.latents))
        shared = new.rotary.unsqueeze(1).expand(*keys.shape[:-1], -1)
        scores = (q @ torch.cat((keys, shared), -1).mT).div(self.divisor)
        future = torch.ones(scores.shape[-2:]).triu(first + 1).bool()
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        out = (weights @ self.per_head(self.v_up(new.latents))).movedim(1, 2).flatten(2)
        return self.o_proj(out), new
