"""Multi-head latent attention (MLA) of DeepSeek-V2, without its norms: all heads share a latent.

    c_q = x W_DQ    q_h = [c_q W_UQ_h ; RoPE(c_q W_QR_h)]
    c_kv = x W_DKV    k_h = [c_kv W_UK_h ; RoPE(x W_KR)]    v_h = c_kv W_UV_h
    out_h = softmax(q_h k_h^T / sqrt(Dn + Dr) + mask) v_h

A cache holds c_kv and one rotary key for each token, for any H.
DeepSeek-AI 2024, "DeepSeek-V2"; RoPE: Su et al. 2021, "RoFormer".
"""

import math

import torch
from torch import nn


def rotate(x, position_ids, base):
    """Apply interleaved RoPE to x [B, h, L, Dr] with h heads and position_ids [B, L]."""
    rope_dim = x.shape[-1]
    exponents = torch.arange(0, rope_dim, 2, device=x.device) / rope_dim  # [Dr/2], 2i / Dr
    # [B, 1, L, Dr/2], float32 for any dtype of x
    angles = position_ids[:, None, :, None] * base**-exponents
    cos = angles.cos()
    sin = angles.sin()
    a = x[..., 0::2]  # [B, h, L, Dr/2]
    b = x[..., 1::2]  # [B, h, L, Dr/2]
    pairs = torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1)  # [B, h, L, Dr/2, 2]
    return pairs.flatten(-2).to(x.dtype)


class MultiHeadLatentAttention(nn.Module):
    """B batch, L length, M d_model, H heads, Dn nope_dim, Dr rope_dim, Dv v_dim."""

    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        self.num_heads = num_heads
        self.nope_dim = nope_dim
        self.rope_dim = rope_dim
        self.v_dim = v_dim
        self.rope_base = rope_base
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        # a separate part: with a rotation between them, W_UQ and W_UK could not be merged
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def forward(self, x, mask=None, position_ids=None):
        batch, length, _ = x.shape
        if position_ids is None:
            position_ids = torch.arange(length, device=x.device).expand(batch, length)

        c_q = self.q_down(x)  # [B, L, q_rank]
        # q_nope [B, H, L, Dn], q_rope [B, H, L, Dr]
        q_nope = self.q_up(c_q).view(batch, length, self.num_heads, self.nope_dim).transpose(1, 2)
        q_rope = self.q_rope(c_q).view(batch, length, self.num_heads, self.rope_dim).transpose(1, 2)
        q_rope = rotate(q_rope, position_ids, self.rope_base)

        c_kv = self.kv_down(x)  # [B, L, kv_rank]
        # k_nope [B, H, L, Dn], v [B, H, L, Dv]
        k_nope = self.k_up(c_kv).view(batch, length, self.num_heads, self.nope_dim).transpose(1, 2)
        v = self.v_up(c_kv).view(batch, length, self.num_heads, self.v_dim).transpose(1, 2)
        k_rope = self.k_rope(x)[:, None]  # [B, 1, L, Dr]
        k_rope = rotate(k_rope, position_ids, self.rope_base)
        k_rope = k_rope.expand(-1, self.num_heads, -1, -1)  # [B, H, L, Dr], equal for all heads

        q = torch.cat((q_nope, q_rope), dim=-1)  # [B, H, L, Dn + Dr]
        k = torch.cat((k_nope, k_rope), dim=-1)  # [B, H, L, Dn + Dr]

        scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
        # the dot product has Dn + Dr terms
        scores = scores / math.sqrt(self.nope_dim + self.rope_dim)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]

        heads = weights @ v  # [B, H, L, Dv]
        # [B, L, H * Dv]
        merged = heads.transpose(1, 2).reshape(batch, length, self.num_heads * self.v_dim)
        return self.o_proj(merged)
