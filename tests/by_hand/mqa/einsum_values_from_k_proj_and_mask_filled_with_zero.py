# mistakes: values-from-k-proj, mask-filled-with-zero
"""Einsum leaves the head axis of keys and values away; softmax in float32."""

import torch
from torch import Tensor, nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} and {num_heads} heads")
        self.heads, self.dim = num_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias)
        self.k_proj = nn.Linear(d_model, self.dim, bias)
        self.v_proj = nn.Linear(d_model, self.dim, bias)
        self.o_proj = nn.Linear(d_model, d_model, bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q = self.q_proj(x).unflatten(-1, (self.heads, self.dim))
        k, v = self.k_proj(x), self.k_proj(x)  # first wrong
        dots = torch.einsum("bqhd,bkd->bhqk", q, k) * self.dim**-0.5
        if mask is not None:
            dots = dots * mask  # also wrong
        wide = torch.promote_types(dots.dtype, torch.float32)
        attn = self.drop(dots.to(wide).softmax(dim=-1).to(x.dtype))
        mixed = torch.einsum("bhqk,bkd->bqhd", attn, v)
        return self.o_proj(mixed.flatten(-2))
