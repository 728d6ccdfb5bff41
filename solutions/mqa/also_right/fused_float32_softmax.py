"""Fuse the projections, expand k and v to H heads, add -1e9 as a mask, and use a float32 softmax.

x is read once instead of three times; the expanded k and v are views, which matmul copies if B > 1,
as in the reference. In half precision, the float32 softmax is more accurate and takes twice the
memory.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        if self.head_dim * num_heads != d_model:
            raise ValueError(f"`d_model` must be divisible by num_heads (got {d_model} and {num_heads}).")
        self.query_key_value = nn.Linear(d_model, d_model + 2 * self.head_dim, bias=bias)
        self.dense = nn.Linear(d_model, d_model, bias=bias)
        self.inv_norm_factor = self.head_dim**-0.5
        self.attention_dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        batch_size, seq_length, hidden = x.shape
        fused = self.query_key_value(x).view(batch_size, seq_length, self.num_heads + 2, self.head_dim)
        query, key, value = fused[..., :-2, :], fused[..., [-2], :], fused[..., [-1], :]
        query = query.transpose(1, 2)
        key = key.transpose(1, 2).expand(batch_size, self.num_heads, seq_length, self.head_dim)
        value = value.transpose(1, 2).expand(batch_size, self.num_heads, seq_length, self.head_dim)
        scores = query.matmul(key.transpose(-1, -2)) * self.inv_norm_factor
        bias = torch.zeros((), dtype=scores.dtype, device=scores.device)
        if mask is not None:
            bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill(~mask, -1e9)
        probs = F.softmax((scores + bias).float(), dim=-1).to(query.dtype)
        probs = self.attention_dropout(probs)
        context = probs.matmul(value).permute(0, 2, 1, 3).reshape(batch_size, seq_length, hidden)
        return self.dense(context)
