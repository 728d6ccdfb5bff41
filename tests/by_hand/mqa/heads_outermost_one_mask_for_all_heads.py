# mistakes: one-mask-for-all-heads
"""[H, B, L, D]: the heads lie outermost, k and v broadcast without an axis of their own; an additive mask."""

import torch
from torch import nn


def penalty(mask, heads, batch, length, dtype):
    """0 where a query may look and -inf where not, for scores [H, B, L, L]."""
    keep = mask.expand(batch, heads, length, length)[:, 0]  # first wrong
    return torch.zeros(keep.shape, dtype=dtype, device=mask.device).masked_fill(~keep, float("-inf"))


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} / {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_k = nn.Linear(d_model, self.head_dim, bias=bias)
        self.to_v = nn.Linear(d_model, self.head_dim, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        q = self.to_q(x).view(batch, length, self.num_heads, self.head_dim).permute(2, 0, 1, 3)
        k = self.to_k(x)
        v = self.to_v(x)
        k = k * self.head_dim**-0.5
        scores = q @ k.mT
        if mask is not None:
            scores = scores + penalty(mask, self.num_heads, batch, length, scores.dtype)
        # [H, B, Lq, Lk]
        weights = torch.exp(scores - scores.logsumexp(dim=-1, keepdim=True))
        out = self.dropout(weights) @ v
        return self.to_out(out.permute(1, 2, 0, 3).flatten(2))
