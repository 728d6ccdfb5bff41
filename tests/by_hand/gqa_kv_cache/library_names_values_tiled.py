# mistakes: values-tiled
"""Long names as in model libraries; two helpers, one for the keys and one for the values."""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def repeat_keys(key_states: Tensor, n_rep: int) -> Tensor:
    batch, kv_heads, length, head_dim = key_states.shape
    key_states = key_states[:, :, None].expand(batch, kv_heads, n_rep, length, head_dim)
    return key_states.reshape(batch, kv_heads * n_rep, length, head_dim)


def repeat_values(value_states: Tensor, n_rep: int) -> Tensor:
    return torch.cat([value_states] * n_rep, dim=1)  # first wrong


class CachedGroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, bias: bool = False) -> None:
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(f"d_model={d_model} num_heads={num_heads} num_kv_heads={num_kv_heads}")
        self.num_heads = num_heads
        self.num_key_value_heads = num_kv_heads
        self.num_key_value_groups = num_heads // num_kv_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, self.num_heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(d_model, self.num_key_value_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, self.num_key_value_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(self.num_heads * self.head_dim, d_model, bias=bias)

    def causal_mask(self, query_length: int, key_length: int, like: Tensor) -> Tensor:
        minimum = torch.finfo(like.dtype).min
        mask = torch.full((query_length, key_length), minimum, dtype=like.dtype, device=like.device)
        return mask.triu(diagonal=key_length - query_length + 1)

    def forward(self, x: Tensor, past_kv: Optional[tuple[Tensor, Tensor]] = None, use_cache: bool = False):
        bsz, q_len, hidden_size = x.size()
        query_states = self.q_proj(x).view(bsz, q_len, self.num_heads, self.head_dim).transpose(1, 2)
        key_states = self.k_proj(x).view(bsz, q_len, self.num_key_value_heads, self.head_dim).transpose(1, 2)
        value_states = self.v_proj(x).view(bsz, q_len, self.num_key_value_heads, self.head_dim).transpose(1, 2)
        if past_kv is not None:
            key_states = torch.cat([past_kv[0], key_states], dim=2)
            value_states = torch.cat([past_kv[1], value_states], dim=2)
        present = (key_states, value_states)
        key_states = repeat_keys(key_states, self.num_key_value_groups)
        value_states = repeat_values(value_states, self.num_key_value_groups)

        attn_weights = torch.matmul(query_states, key_states.transpose(2, 3)) / self.head_dim**0.5
        attn_weights = attn_weights + self.causal_mask(q_len, key_states.size(2), attn_weights)
        attn_weights = F.softmax(attn_weights.float(), dim=-1).to(value_states.dtype)
        attn_output = torch.matmul(attn_weights, value_states)
        attn_output = attn_output.transpose(1, 2).contiguous().view(bsz, q_len, hidden_size)
        attn_output = self.o_proj(attn_output)
        if not use_cache:
            return attn_output
        return attn_output, present
