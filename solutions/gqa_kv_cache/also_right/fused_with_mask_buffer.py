"""Use one fused projection, a registered triangle, and an index that picks the head of each query.

The index copies k and v as repeat_interleave does. One product instead of three needs fewer kernel
launches, but the triangle takes block_size**2 numbers and limits Lpast + L to block_size.
"""

from typing import Optional, Tuple, Union

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn import functional as F

KV = Tuple[Tensor, Tensor]


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, bias: bool = False, block_size: int = 512) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} must be a multiple of num_heads={num_heads}")
        if num_heads % num_kv_heads:
            raise ValueError(f"num_heads={num_heads} must be a multiple of num_kv_heads={num_kv_heads}")
        self.n_head, self.n_kv_head, self.head_size = num_heads, num_kv_heads, d_model // num_heads
        self.sizes = [d_model, num_kv_heads * self.head_size, num_kv_heads * self.head_size]
        self.c_attn = nn.Linear(d_model, sum(self.sizes), bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        triangle = torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size)
        self.register_buffer("bias", triangle, persistent=False)
        self.register_buffer("kv_head_of", torch.arange(num_heads) // (num_heads // num_kv_heads), persistent=False)

    def forward(self, x: Tensor, past_kv: Optional[KV] = None, use_cache: bool = False) -> Union[Tensor, Tuple[Tensor, KV]]:
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.sizes, dim=2)
        q = q.view(B, T, self.n_head, self.head_size).transpose(1, 2)
        k = k.view(B, T, self.n_kv_head, self.head_size).transpose(1, 2)
        v = v.view(B, T, self.n_kv_head, self.head_size).transpose(1, 2)
        start = 0
        if past_kv is not None:
            start = past_kv[0].size(-2)
            k = torch.cat((past_kv[0], k), dim=-2)
            v = torch.cat((past_kv[1], v), dim=-2)
        present = (k, v)
        k, v = k[:, self.kv_head_of], v[:, self.kv_head_of]

        att = (q @ k.transpose(-2, -1)) * self.head_size**-0.5
        att = att.masked_fill(self.bias[:, :, start : start + T, : start + T] == 0, float("-inf"))
        att = F.softmax(att.float(), dim=-1).type_as(q)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        y = self.c_proj(y)
        if use_cache:
            return y, present
        return y
