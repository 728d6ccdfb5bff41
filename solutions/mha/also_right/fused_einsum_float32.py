"""Store the three input projections in one layer, use einsum, and take the softmax in float32.

The three parts are still multiplied separately, so the joined layer saves no work. In half
precision, the float32 scores take twice the memory; float64 inputs lose accuracy.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is no multiple of {num_heads=}")
        self.h, self.d, self.m = num_heads, d_model // num_heads, d_model
        self.in_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.p = dropout

    def project(self, x: torch.Tensor, part: int) -> torch.Tensor:
        rows = slice(part * self.m, (part + 1) * self.m)
        bias = None if self.in_proj.bias is None else self.in_proj.bias[rows]
        y = F.linear(x, self.in_proj.weight[rows], bias)
        return y.reshape(*x.shape[:2], self.h, self.d)

    def forward(self, query, key, value, mask=None, return_weights=False):
        q, k, v = self.project(query, 0), self.project(key, 1), self.project(value, 2)
        s = torch.einsum("bihd,bjhd->bhij", q * self.d**-0.5, k).float()
        if mask is not None:
            s = torch.where(mask, s, torch.finfo(s.dtype).min)
        w = F.softmax(s, dim=-1).to(q.dtype)
        w = F.dropout(w, self.p, training=self.training)
        out = self.out_proj(torch.einsum("bhij,bjhd->bihd", w, v).flatten(2))
        return (out, w) if return_weights else out
