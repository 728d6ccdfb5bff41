"""Take cosines and sines from tables of 4096 rows, add two products, and write softmax by hand.

The tables save the cosines of each call, but a position above the last row raises IndexError. The
sum of two products and the hand-written softmax make more tensors of the size of the scores than
the reference.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Rotary:
    """Interleaved rotation by tables, rows picked by position. No module, so that .to(dtype) leaves it alone."""

    def __init__(self, dim: int, base: float, rows: int = 4096) -> None:
        inv_freq = base ** -(torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        angles = torch.outer(torch.arange(rows, dtype=torch.float64), inv_freq).repeat_interleave(2, dim=-1)
        self.cos, self.sin = angles.cos().float(), angles.sin().float()

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = (table[positions].unsqueeze(1).to(x.dtype) for table in (self.cos, self.sin))
        turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).reshape(x.shape)
        return x * cos + turned * sin


class MultiHeadLatentAttention(nn.Module):
    def __init__(
        self, d_model: int, num_heads: int, q_rank: int, kv_rank: int, nope_dim: int, rope_dim: int, v_dim: int, rope_base: float = 10000.0
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.scale = (nope_dim + rope_dim) ** -0.5
        self.rotary = Rotary(rope_dim, rope_base)
        widths = {
            "q_down": (d_model, q_rank),
            "q_up": (q_rank, num_heads * nope_dim),
            "q_rope": (q_rank, num_heads * rope_dim),
            "kv_down": (d_model, kv_rank),
            "k_up": (kv_rank, num_heads * nope_dim),
            "v_up": (kv_rank, num_heads * v_dim),
            "k_rope": (d_model, rope_dim),
            "o_proj": (num_heads * v_dim, d_model),
        }
        for name, (wide, narrow) in widths.items():
            setattr(self, name, nn.Linear(wide, narrow, bias=False))

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).movedim(-2, 1)

    def forward(self, x: Tensor, mask: Tensor | None = None, position_ids: Tensor | None = None) -> Tensor:
        if position_ids is None:
            position_ids = torch.arange(x.size(1), device=x.device).unsqueeze(0)
        query_latent = self.q_down(x)
        latent = self.kv_down(x)
        content = self.split(self.q_up(query_latent)) @ self.split(self.k_up(latent)).transpose(-1, -2)
        place = self.rotary(self.split(self.q_rope(query_latent)), position_ids) @ self.rotary(self.k_rope(x).unsqueeze(1), position_ids).transpose(-1, -2)
        scores = (content + place) * self.scale
        if mask is not None:
            bias = torch.zeros_like(mask, dtype=scores.dtype).masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
            scores = scores + bias
        powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        if mask is not None:
            powers = powers * mask
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.o_proj((weights @ self.split(self.v_up(latent))).movedim(1, -2).flatten(-2))
