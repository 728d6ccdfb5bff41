"""Repeat the heads with expand and reshape, as the Llama code does, and add the mask to the scores.

The reshape copies k and v as repeat_interleave does, and a single new token needs no mask. The
softmax in float32 is more accurate in half precision and takes twice the memory there.
"""

import math
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn


def repeat_kv(hidden_states: torch.Tensor, n_rep: int) -> torch.Tensor:
    """[B, Hkv, S, D] -> [B, Hkv * n_rep, S, D]"""
    batch, num_key_value_heads, slen, head_dim = hidden_states.shape
    if n_rep == 1:
        return hidden_states
    hidden_states = hidden_states[:, :, None, :, :].expand(batch, num_key_value_heads, n_rep, slen, head_dim)
    return hidden_states.reshape(batch, num_key_value_heads * n_rep, slen, head_dim)


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, bias: bool = False):
        super().__init__()
        self.head_dim = d_model // num_heads
        if self.head_dim * num_heads != d_model:
            raise ValueError(f"hidden size {d_model} must be divisible by num_heads {num_heads}")
        self.n_rep = num_heads // num_kv_heads
        if self.n_rep * num_kv_heads != num_heads:
            raise ValueError(f"num_heads {num_heads} must be divisible by num_kv_heads {num_kv_heads}")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=bias)

    def forward(self, x: torch.Tensor, past_kv: Optional[Tuple[torch.Tensor, torch.Tensor]] = None, use_cache: bool = False):
        bsz, q_len, _ = x.size()
        query_states = self.q_proj(x).view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        key_states = self.k_proj(x).view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        value_states = self.v_proj(x).view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        if past_kv is not None:
            key_states = torch.cat([past_kv[0], key_states], dim=2)
            value_states = torch.cat([past_kv[1], value_states], dim=2)
        past_kv = (key_states, value_states) if use_cache else None
        kv_len = key_states.shape[-2]

        attn_weights = torch.matmul(query_states, repeat_kv(key_states, self.n_rep).transpose(2, 3)) / math.sqrt(self.head_dim)
        if q_len > 1:
            mask = torch.full((q_len, kv_len), torch.finfo(x.dtype).min, dtype=x.dtype, device=x.device)
            attn_weights = attn_weights + torch.triu(mask, diagonal=kv_len - q_len + 1)
        attn_weights = F.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query_states.dtype)
        attn_output = torch.matmul(attn_weights, repeat_kv(value_states, self.n_rep))
        attn_output = self.o_proj(attn_output.transpose(1, 2).contiguous().reshape(bsz, q_len, -1))
        if past_kv is None:
            return attn_output
        return attn_output, past_kv
