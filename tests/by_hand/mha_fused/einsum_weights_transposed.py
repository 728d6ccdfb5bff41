# mistakes: weights-transposed
"""Einsum over the fused tensor, which is never permuted: [B, L, 3, H, D] all the way."""

import math

import torch
from torch import einsum, nn


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        head_dim, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"d_model {d_model} leaves {rest} over for {num_heads} heads")
        self.shape = (3, num_heads, head_dim)
        self.temperature = math.sqrt(head_dim)
        self.to_qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        qkv = self.to_qkv(x).unflatten(-1, self.shape)
        sim = einsum("blhd,bmhd->bhlm", qkv[:, :, 0], qkv[:, :, 1]) / self.temperature
        if mask is not None:
            sim = sim + torch.zeros(mask.shape, dtype=sim.dtype, device=sim.device).masked_fill(~mask, -math.inf)
        attn = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = attn.exp() / attn.exp().sum(dim=-1, keepdim=True)
        out = einsum("bhlm,blhd->bmhd", self.dropout(attn), qkv[:, :, 2])  # first wrong
        return self.to_out(out.flatten(2))
