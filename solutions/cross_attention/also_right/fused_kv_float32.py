"""Project keys and values with one layer, scale the queries, and use -1e9 and a float32 softmax.

The layer reads the memory once instead of twice, and the scale costs Lq * D multiplications per
head instead of Lq * Lk. In half precision, the float32 softmax is more accurate but takes twice the
memory.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, memory_dim: int | None = None, bias: bool = True) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is no multiple of {num_heads=}")
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.kv_proj = nn.Linear(memory_dim or d_model, 2 * d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x: torch.Tensor, memory: torch.Tensor, memory_mask: torch.Tensor | None = None) -> torch.Tensor:
        bsz, tgt, _ = x.size()
        src = memory.size(1)
        q = self.q_proj(x).reshape(bsz, tgt, self.num_heads, self.head_dim).transpose(1, 2)
        k, v = self.kv_proj(memory).reshape(bsz, src, 2, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        att = torch.matmul(q * self.head_dim**-0.5, k.mT).float()
        if memory_mask is not None:
            att = att.masked_fill(memory_mask.view(bsz, 1, 1, src) == 0, -1e9)
        att = F.softmax(att, dim=-1).to(v.dtype)
        return self.out_proj(torch.matmul(att, v).transpose(1, 2).contiguous().view(bsz, tgt, -1))
