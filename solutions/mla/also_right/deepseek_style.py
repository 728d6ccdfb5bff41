"""Move even features before odd features in queries and keys, then rotate halves, as DeepSeek does.

Queries and keys get the same order, so the scores do not change, but each is copied. The table
grows to the largest position and serves later calls too, but it is on the CPU and works only there.
"""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn


class RotaryEmbedding:
    def __init__(self, dim: int, base: float):
        self.dim, self.base, self.rows = dim, base, 0

    def grow(self, rows: int) -> None:
        inv_freq = 1.0 / (self.base ** (torch.arange(0, self.dim, 2).float() / self.dim))
        freqs = torch.outer(torch.arange(rows).float(), inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        self.cos_cached, self.sin_cached, self.rows = emb.cos(), emb.sin(), rows

    def __call__(self, position_ids: torch.Tensor, dtype: torch.dtype):
        needed = int(position_ids.max()) + 1
        if needed > self.rows:
            self.grow(needed)
        return self.cos_cached[position_ids].to(dtype), self.sin_cached[position_ids].to(dtype)


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos = cos.unsqueeze(unsqueeze_dim)
    sin = sin.unsqueeze(unsqueeze_dim)
    b, h, s, d = q.shape
    q = q.reshape(b, h, s, d // 2, 2).transpose(4, 3).reshape(b, h, s, d)
    b, h, s, d = k.shape
    k = k.reshape(b, h, s, d // 2, 2).transpose(4, 3).reshape(b, h, s, d)
    return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads = num_heads
        self.qk_nope_head_dim, self.qk_rope_head_dim, self.v_head_dim = nope_dim, rope_dim, v_dim
        self.q_head_dim = nope_dim + rope_dim
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)
        self.rotary_emb = RotaryEmbedding(rope_dim, rope_base)
        self.softmax_scale = self.q_head_dim ** (-0.5)

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None, position_ids: Optional[torch.Tensor] = None) -> torch.Tensor:
        bsz, q_len, _ = x.size()
        if position_ids is None:
            position_ids = torch.arange(q_len, device=x.device).unsqueeze(0)
        compressed_q, compressed_kv = self.q_down(x), self.kv_down(x)
        q_nope = self.q_up(compressed_q).view(bsz, q_len, self.num_heads, -1).transpose(1, 2)
        q_pe = self.q_rope(compressed_q).view(bsz, q_len, self.num_heads, -1).transpose(1, 2)
        k_pe = self.k_rope(x).view(bsz, q_len, 1, self.qk_rope_head_dim).transpose(1, 2)
        k_nope = self.k_up(compressed_kv).view(bsz, q_len, self.num_heads, -1).transpose(1, 2)
        value_states = self.v_up(compressed_kv).view(bsz, q_len, self.num_heads, -1).transpose(1, 2)

        q_pe, k_pe = apply_rotary_pos_emb(q_pe, k_pe, *self.rotary_emb(position_ids, x.dtype))

        query_states = k_pe.new_empty(bsz, self.num_heads, q_len, self.q_head_dim)
        query_states[..., : self.qk_nope_head_dim] = q_nope
        query_states[..., self.qk_nope_head_dim :] = q_pe
        key_states = k_pe.new_empty(bsz, self.num_heads, q_len, self.q_head_dim)
        key_states[..., : self.qk_nope_head_dim] = k_nope
        key_states[..., self.qk_nope_head_dim :] = k_pe

        attn_weights = torch.matmul(query_states, key_states.transpose(2, 3)) * self.softmax_scale
        if mask is not None:
            attn_weights = attn_weights.masked_fill(mask == False, torch.finfo(attn_weights.dtype).min)  # noqa: E712
        attn_weights = F.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query_states.dtype)
        attn_output = torch.matmul(attn_weights, value_states).transpose(1, 2).contiguous()
        return self.o_proj(attn_output.reshape(bsz, q_len, self.num_heads * self.v_head_dim))
