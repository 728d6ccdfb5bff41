"""Compile the rotation and the attention with torch.jit.script, and add two products of scores.

Queries and keys are not joined, but there are more tensors of the size of the scores, and torch
copies the shared rotary key for every head. TorchScript is deprecated in favour of torch.compile.
"""

import math
from typing import Optional

import torch
from torch import Tensor, nn


@torch.jit.script
def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    pairs = x.reshape(x.shape[:-1] + [x.shape[-1] // 2, 2])
    first, second = pairs.unbind(-1)
    turned = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
    return turned.reshape(x.shape)


@torch.jit.script
def attend(q_nope: Tensor, q_rope: Tensor, k_nope: Tensor, k_rope: Tensor, v: Tensor, mask: Optional[Tensor], scale: float) -> Tensor:
    """q_nope, k_nope [B, H, L, Dn], q_rope [B, H, L, Dr], k_rope [B, 1, L, Dr], v [B, H, L, Dv] -> [B, L, H * Dv]."""
    scores = torch.matmul(q_nope, k_nope.transpose(-1, -2)) + torch.matmul(q_rope, k_rope.transpose(-1, -2))
    scores = scores * scale
    if mask is not None:
        scores = scores.masked_fill(torch.logical_not(mask), float("-inf"))
    return torch.matmul(torch.softmax(scores, dim=-1), v).transpose(1, 2).flatten(2)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads, self.rope_dim = num_heads, rope_dim
        self.scale = 1.0 / math.sqrt(nope_dim + rope_dim)
        self.log_base = math.log(rope_base)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def heads(self, flat):
        return flat.unflatten(2, (self.num_heads, -1)).transpose(1, 2)

    def tables(self, position_ids, dtype):
        rates = torch.exp(torch.arange(0, self.rope_dim, 2, device=position_ids.device) * (-self.log_base / self.rope_dim))
        angles = torch.einsum("bl,i->bli", position_ids.to(rates.dtype), rates)[:, None]
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def forward(self, x, mask=None, position_ids=None):
        if position_ids is None:
            position_ids = torch.arange(x.shape[1], device=x.device)[None]
        cos, sin = self.tables(position_ids, x.dtype)
        queries, latent = self.q_down(x), self.kv_down(x)
        q_rope = rotate_pairs(self.heads(self.q_rope(queries)), cos, sin)
        k_rope = rotate_pairs(self.k_rope(x)[:, None], cos, sin)
        merged = attend(self.heads(self.q_up(queries)), q_rope, self.heads(self.k_up(latent)), k_rope, self.heads(self.v_up(latent)), mask, self.scale)
        return self.o_proj(merged)
