# mistakes: dealt-a-feature-at-a-time, softmax-over-heads
"""Scores [B, Lq, Lk, H] with the heads innermost."""

import torch
from torch import nn


def cut(fused, heads):
    """[B, L, 3 * M] -> q, k, v, each [B, L, H, D]"""
    b, n, width = fused.shape
    parts = fused.view(b, n, heads, width // (3 * heads), 3)  # first wrong
    return parts[..., 0], parts[..., 1], parts[..., 2]


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"cannot cut {d_model} into {num_heads}")
        self.heads = num_heads
        self.layers = nn.ModuleDict(
            {"qkv_proj": nn.Linear(d_model, 3 * d_model, bias=bias), "o_proj": nn.Linear(d_model, d_model, bias=bias)}
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q, k, v = cut(self.layers["qkv_proj"](x), self.heads)
        s = torch.einsum("bihd,bjhd->bijh", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            full = mask.expand(b, self.heads, n, n).permute(0, 2, 3, 1)
            s = s.masked_fill(~full, float("-inf"))
        w = torch.softmax(s, dim=-1)  # also wrong
        w = self.drop(w.permute(0, 3, 1, 2))
        o = torch.einsum("bhij,bjhd->bihd", w, v)
        return self.layers["o_proj"](o.reshape(b, n, -1))
