# mistakes: d-model-not-checked
"""Angles made in every call by a function of its own; the rotation as stack, flip and flatten."""

import torch
from torch import Tensor, nn


def make_cos_sin(position_ids: Tensor, dim: int, base: float) -> tuple[Tensor, Tensor]:
    freq = torch.pow(base, torch.arange(0, dim, 2, device=position_ids.device, dtype=torch.float32) / -dim)
    angle = position_ids.float()[..., None] * freq
    return angle.cos()[:, None, :, None], angle.sin()[:, None, :, None]  # [B, 1, L, 1, D/2]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first_second = x.unflatten(-1, (2, x.size(-1) // 2))
    first, second = first_second.unbind(-2)
    minus_second_first = torch.stack((-second, first), dim=-2)
    return (first_second * cos + minus_second_first * sin).flatten(-2).to(x.dtype)


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, max_seq_len: int = 2048, rope_base: float = 10000.0, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads  # first wrong
        self.rope_base = float(rope_base)
        self.qkv_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.attention_dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None, position_ids: Tensor | None = None) -> Tensor:
        batch, length, _ = x.shape
        if position_ids is None:
            position_ids = torch.arange(length, device=x.device).unsqueeze(0)
        cos, sin = make_cos_sin(position_ids, self.head_dim, self.rope_base)
        qkv = self.qkv_proj(x).reshape(batch, length, 3, self.num_heads, self.head_dim)
        query, key, value = qkv.movedim(2, 0).transpose(2, 3)
        query, key = rotate(query, cos, sin), rotate(key, cos, sin)
        attention = query.matmul(key.transpose(-1, -2)).div(self.head_dim**0.5)
        if mask is not None:
            attention = attention + torch.where(mask, 0.0, float("-inf")).to(attention.dtype)
        attention = self.attention_dropout(attention.softmax(dim=-1))
        return self.o_proj(attention.matmul(value).transpose(1, 2).flatten(2))
