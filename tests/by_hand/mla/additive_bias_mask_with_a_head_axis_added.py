# mistakes: mask-with-a-head-axis-added
# diagnosis: line elsewhere
"""A helper makes an additive mask, added to the sum of two score products; softmax in float32."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def additive_mask(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """bool -> 0 where one may look and the least number elsewhere, four dims."""
    if mask.dim() == 2:
        mask = mask[None, None]
    elif mask.dim() == 3:
        mask = mask.unsqueeze(1)  # first wrong
    bias = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    bias.masked_fill_(~mask, torch.finfo(dtype).min)
    return bias


def rotate_interleaved(t: Tensor, angles: Tensor) -> Tensor:
    cos = torch.cos(angles).to(t.dtype)
    sin = torch.sin(angles).to(t.dtype)
    out = torch.zeros_like(t)
    out[..., ::2] = t[..., ::2] * cos - t[..., 1::2] * sin
    out[..., 1::2] = t[..., ::2] * sin + t[..., 1::2] * cos
    return out


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.n_heads = num_heads
        self.rope_dim = rope_dim
        self.rope_base = rope_base
        self.softmax_scale = (nope_dim + rope_dim) ** -0.5
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)

    def by_head(self, t: Tensor) -> Tensor:
        return t.view(*t.shape[:2], self.n_heads, -1).permute(0, 2, 1, 3)

    def forward(self, x: Tensor, mask: Tensor | None = None, position_ids: Tensor | None = None) -> Tensor:
        if position_ids is None:
            position_ids = torch.arange(x.size(1), device=x.device).unsqueeze(0)
        inv_freq = 1.0 / self.rope_base ** (torch.arange(0, self.rope_dim, 2, device=x.device, dtype=torch.float32) / self.rope_dim)
        angles = position_ids[:, None, :, None] * inv_freq

        q_latent = self.q_down(x)
        q_pass = self.by_head(self.q_up(q_latent))
        q_rot = rotate_interleaved(self.by_head(self.q_rope(q_latent)), angles)

        kv_latent = self.kv_down(x)
        k_pass = self.by_head(self.k_up(kv_latent))
        k_rot = rotate_interleaved(self.k_rope(x)[:, None], angles)
        value = self.by_head(self.v_up(kv_latent))

        attn = torch.matmul(q_pass, k_pass.transpose(2, 3)) + torch.matmul(q_rot, k_rot.transpose(2, 3))
        attn = attn * self.softmax_scale
        if mask is not None:
            attn = attn + additive_mask(mask, attn.dtype)
        attn = torch.softmax(attn, dim=-1, dtype=torch.float32 if attn.dtype == torch.bfloat16 else None).to(value.dtype)
        context = torch.matmul(attn, value).permute(0, 2, 1, 3)
        return self.o_proj(context.flatten(-2))
