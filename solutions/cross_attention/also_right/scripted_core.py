"""Compile the core with torch.jit.script, give each projection a module, and mask with -1e9.

The operations are those of the reference, so it costs the same. But torch.jit.script is deprecated,
and in float16 masked_fill raises an error, because -1e9 does not fit.
"""

from typing import Optional

import torch
from torch import Tensor, nn


@torch.jit.script
def attend(q: Tensor, k: Tensor, v: Tensor, real: Optional[Tensor]) -> Tensor:
    scores = torch.matmul(q, k.transpose(-2, -1)) / float(q.size(-1)) ** 0.5
    if real is not None:
        scores = scores.masked_fill(torch.logical_not(real).unsqueeze(1).unsqueeze(1), -1e9)
    return torch.matmul(torch.softmax(scores, dim=-1), v)


class Heads(nn.Module):
    """A projection cut into heads: [B, L, width] -> [B, H, L, D]."""

    def __init__(self, width: int, num_heads: int, head_dim: int, bias: bool):
        super().__init__()
        self.shape = (num_heads, head_dim)
        self.proj = nn.Linear(width, num_heads * head_dim, bias=bias)

    def forward(self, t: Tensor) -> Tensor:
        return self.proj(t).unflatten(-1, self.shape).movedim(2, 1)


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        head_dim, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"d_model={d_model} leaves a rest of {rest} for num_heads={num_heads}")
        memory_dim = memory_dim or d_model
        self.query = Heads(d_model, num_heads, head_dim, bias)
        self.key = Heads(memory_dim, num_heads, head_dim, bias)
        self.value = Heads(memory_dim, num_heads, head_dim, bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory, memory_mask=None):
        out = attend(self.query(x), self.key(memory), self.value(memory), memory_mask)
        return self.output(out.movedim(1, 2).flatten(2))
