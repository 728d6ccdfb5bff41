"""Multi-head latent attention (MLA) with its cache: one latent and one rotary key for each token.

    C = [C_past; X W_DKV]    R = [R_past; RoPE(X W_KR)]    positions of X: P .. P + L - 1
    k_h = [C W_UK_h ; R]    v_h = C W_UV_h    q_h = [c_q W_UQ_h ; RoPE(c_q W_QR_h)]
    out_h = softmax(q_h k_h^T / sqrt(Dn + Dr) + causal) v_h

The cache is (C, R), for any number of heads. R is rotated once, before it is cached.
DeepSeek-AI 2024, "DeepSeek-V2"; RoPE: Su et al. 2021, "RoFormer".
"""

import math

import torch
from torch import nn


def rotate(x, positions, base):
    """Apply interleaved RoPE to x [..., L, Dr] at the positions [L]."""
    rope_dim = x.shape[-1]
    exponents = torch.arange(0, rope_dim, 2, device=x.device) / rope_dim  # [Dr/2], 2i / Dr
    angles = positions[:, None] * base**-exponents  # [L, Dr/2], float32 for any dtype of x
    cos = angles.cos()
    sin = angles.sin()
    a = x[..., 0::2]  # [..., L, Dr/2]
    b = x[..., 1::2]  # [..., L, Dr/2]
    pairs = torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1)  # [..., L, Dr/2, 2]
    return pairs.flatten(-2).to(x.dtype)


class CachedMultiHeadLatentAttention(nn.Module):
    """B batch, L new tokens, P cached tokens, M d_model, H heads, parts Dn, Dr and Dv of a head."""

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
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def forward(self, x, cache=None):
        batch, length, _ = x.shape
        past_length = 0 if cache is None else cache[0].shape[1]
        total = past_length + length
        positions = torch.arange(past_length, total, device=x.device)  # [L]

        c_q = self.q_down(x)  # [B, L, q_rank]
        # q_nope [B, H, L, Dn], q_rope [B, H, L, Dr]
        q_nope = self.q_up(c_q).view(batch, length, self.num_heads, self.nope_dim).transpose(1, 2)
        q_rope = self.q_rope(c_q).view(batch, length, self.num_heads, self.rope_dim).transpose(1, 2)
        q_rope = rotate(q_rope, positions, self.rope_base)

        c_kv = self.kv_down(x)  # [B, L, kv_rank]
        k_rope = self.k_rope(x)  # [B, L, Dr]
        k_rope = rotate(k_rope, positions, self.rope_base)
        if cache is not None:
            past_c_kv, past_k_rope = cache
            # cat makes new tensors: the caller's cache does not change and may be continued twice
            c_kv = torch.cat((past_c_kv, c_kv), dim=1)  # [B, P + L, kv_rank]
            k_rope = torch.cat((past_k_rope, k_rope), dim=1)  # [B, P + L, Dr]

        # the keys and values of old tokens are made again: k_nope [B, H, P + L, Dn], v [..., Dv]
        k_nope = self.k_up(c_kv).view(batch, total, self.num_heads, self.nope_dim).transpose(1, 2)
        v = self.v_up(c_kv).view(batch, total, self.num_heads, self.v_dim).transpose(1, 2)
        shared = k_rope[:, None].expand(-1, self.num_heads, -1, -1)  # [B, H, P + L, Dr]

        q = torch.cat((q_nope, q_rope), dim=-1)  # [B, H, L, Dn + Dr]
        k = torch.cat((k_nope, shared), dim=-1)  # [B, H, P + L, Dn + Dr]
        scores = q @ k.transpose(-2, -1)  # [B, H, L, P + L]
        # the dot product has Dn + Dr terms
        scores = scores / math.sqrt(self.nope_dim + self.rope_dim)
        # row i is position P + i, so its last visible key is on diagonal P
        everything = torch.ones(length, total, dtype=torch.bool, device=x.device)
        visible = everything.tril(diagonal=past_length)
        scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, P + L]

        heads = weights @ v  # [B, H, L, Dv]
        merged = heads.transpose(1, 2).reshape(batch, length, self.num_heads * self.v_dim)
        out = self.o_proj(merged)
        return out, (c_kv, k_rope)
