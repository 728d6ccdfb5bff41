# mistakes: mask-after-softmax
"""The mask falls on the finished weights: what the hidden keys took is missing from the rest."""

import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    """softmax by hand; sin/cos made anew in every call"""

    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be a multiple of num_heads")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.rope_base = rope_base
        self.qkv_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.attn_drop = nn.Dropout(dropout)

    def cos_sin(self, position_ids):
        half = self.head_dim // 2
        pair = torch.arange(half, dtype=torch.float32, device=position_ids.device)
        speed = 1.0 / self.rope_base ** (2.0 * pair / self.head_dim)
        angle = position_ids[:, None, :, None].float() * speed
        return torch.cos(angle), torch.sin(angle)

    def turn(self, x, cos, sin):
        half = self.head_dim // 2
        wide = x.float()
        a = wide[..., :half]
        b = wide[..., half:]
        new_a = a * cos - b * sin
        new_b = b * cos + a * sin
        return torch.cat((new_a, new_b), dim=-1).to(x.dtype)

    def forward(self, x, mask=None, position_ids=None):
        batch, length, width = x.shape
        if position_ids is None:
            position_ids = torch.arange(length, device=x.device).expand(batch, length)

        qkv = self.qkv_proj(x)
        q = qkv[..., :width]
        k = qkv[..., width : 2 * width]
        v = qkv[..., 2 * width :]
        to_heads = (batch, length, self.num_heads, self.head_dim)
        q = q.reshape(to_heads).transpose(1, 2)
        k = k.reshape(to_heads).transpose(1, 2)
        v = v.reshape(to_heads).transpose(1, 2)

        cos, sin = self.cos_sin(position_ids)
        q = self.turn(q, cos, sin)
        k = self.turn(k, cos, sin)

        scores = q @ k.transpose(-1, -2)
        scores = scores / self.head_dim**0.5
        top = scores.max(dim=-1, keepdim=True).values
        unnormalised = torch.exp(scores - top)
        total = unnormalised.sum(dim=-1, keepdim=True)
        weights = unnormalised / total
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # first wrong
        weights = self.attn_drop(weights)

        mixed = weights @ v
        mixed = mixed.transpose(1, 2)
        mixed = mixed.reshape(batch, length, width)
        return self.o_proj(mixed)
