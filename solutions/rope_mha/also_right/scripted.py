"""Rotate q and k together in TorchScript, with tables that grow when a larger position comes.

Positions have no limit, but reading the largest given position makes the CPU wait for the GPU in
every call. TorchScript is deprecated in favour of torch.compile.
"""

import math

import torch
from torch import Tensor, nn


@torch.jit.script
def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.float().chunk(2, dim=-1)
    if x.dtype == torch.float64:
        first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1).to(x.dtype)


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000, dropout=0, bias=True):
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} is not a multiple of {num_heads}")
        super().__init__()
        self.H, self.D, self.base = num_heads, d_model // num_heads, rope_base
        self.in_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(p=dropout)
        self.cos = self.sin = torch.empty(0, self.D // 2)

    def grow(self, rows: int) -> None:
        rate = torch.tensor([math.pow(self.base, -2 * i / self.D) for i in range(self.D // 2)])
        angle = torch.arange(rows).unsqueeze(-1).mul(rate)
        self.cos, self.sin = angle.cos(), angle.sin()

    def forward(self, x, mask=None, position_ids=None):
        b, n, _ = x.shape
        rows = torch.arange(n) if position_ids is None else position_ids
        needed = int(rows.max()) + 1
        if needed > len(self.cos):
            self.grow(needed)
        cos, sin = self.cos.to(x.device)[rows], self.sin.to(x.device)[rows]
        if position_ids is not None:
            cos, sin = cos[:, None, None], sin[:, None, None]
        qkv = self.in_proj(x).unflatten(-1, (3, self.H, self.D)).permute(0, 2, 3, 1, 4)  # [b, 3, H, n, D]
        q, k = turn(qkv[:, :2], cos, sin).unbind(1)
        v = qkv[:, 2]
        scores = (q @ k.mT).div(math.sqrt(self.D))
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        weights = self.dropout(torch.exp(scores - scores.logsumexp(-1, keepdim=True)))
        return self.out_proj((weights @ v).transpose(1, 2).flatten(-2))
