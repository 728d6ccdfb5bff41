# mistakes: order-q-v-k, scale-multiplied
"""Parts by their offsets in the fused features; softmax in float32."""

import math

import torch
from torch import Tensor, nn


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if num_heads > d_model or d_model % num_heads != 0:
            raise ValueError(f"{d_model} features, {num_heads} heads")
        self.heads = num_heads
        self.width = d_model
        self.in_proj = nn.Linear(d_model, d_model * 3, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.attn_drop = nn.Dropout(p=dropout)

    def part(self, fused: Tensor, offset: int) -> Tensor:
        third = fused.narrow(-1, offset, self.width)
        return third.unflatten(-1, (self.heads, -1)).movedim(-2, -3)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        fused = self.in_proj(x)
        q = self.part(fused, 0)
        v = self.part(fused, self.width)  # first wrong
        k = self.part(fused, 2 * self.width)
        q = q * math.sqrt(self.width / self.heads)  # also wrong
        logits = torch.einsum("bhid,bhjd->bhij", q, k)
        if mask is not None:
            logits = logits.masked_fill(mask == False, torch.finfo(logits.dtype).min)  # noqa: E712
        wide = torch.promote_types(logits.dtype, torch.float32)
        probs = logits.to(wide).softmax(dim=-1).to(v.dtype)
        mixed = torch.einsum("bhij,bhjd->bihd", self.attn_drop(probs), v)
        return self.out_proj(mixed.reshape(x.shape))
