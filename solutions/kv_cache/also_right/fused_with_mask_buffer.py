"""Use one fused projection, a triangle that is registered once, and a softmax in float32.

One large product instead of three small products needs fewer kernel launches, and no call builds a
mask, but the triangle takes block_size**2 numbers and limits Lpast + L to block_size. The float32
softmax is more accurate in half precision and takes twice the memory there.
"""

import math
from typing import Optional, Tuple, Union

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn import functional as F

KV = Tuple[Tensor, Tensor]


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True, block_size: int = 512) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} must be a multiple of num_heads={num_heads}")
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        self.n_head, self.n_embd = num_heads, d_model
        triangle = torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size)
        self.register_buffer("bias", triangle, persistent=False)

    def forward(self, x: Tensor, past_kv: Optional[KV] = None, use_cache: bool = False) -> Union[Tensor, Tuple[Tensor, KV]]:
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        start = 0
        if past_kv is not None:
            start = past_kv[0].size(-2)
            k = torch.cat((past_kv[0], k), dim=-2)
            v = torch.cat((past_kv[1], v), dim=-2)
        present = (k, v)

        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, start : start + T, : start + T] == 0, float("-inf"))
        att = F.softmax(att.float(), dim=-1).type_as(q)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        y = self.c_proj(y)
        if use_cache:
            return y, present
        return y
