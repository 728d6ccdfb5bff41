"""Fill the queries and keys into new tensors part by part, and keep the rotation in a module.

The positions are made from the length of the cache, and the mask holds the smallest finite number
of its dtype. The rotary module stores no buffer, because a cast of the module would round it; it
computes the frequencies again in every call instead.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.dim, self.base = dim, base

    def forward(self, position_ids):
        steps = torch.arange(0, self.dim, 2, dtype=torch.int64, device=position_ids.device).float()
        inv_freq = 1.0 / (self.base ** (steps / self.dim))
        freqs = position_ids[..., None].float() * inv_freq
        return freqs.cos(), freqs.sin()


def rotate_pairs(x, cos, sin):
    even, odd = x.float()[..., 0::2], x.float()[..., 1::2]
    out = torch.empty_like(x, dtype=torch.float32)
    out[..., 0::2] = even * cos - odd * sin
    out[..., 1::2] = even * sin + odd * cos
    return out.to(x.dtype)


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        self.num_heads = num_heads
        self.qk_nope_head_dim, self.qk_rope_head_dim, self.v_head_dim = nope_dim, rope_dim, v_dim
        self.q_head_dim = nope_dim + rope_dim
        self.softmax_scale = self.q_head_dim**-0.5
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_up = nn.Linear(q_rank, num_heads * nope_dim, bias=False)
        self.q_rope = nn.Linear(q_rank, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank, bias=False)
        self.k_up = nn.Linear(kv_rank, num_heads * nope_dim, bias=False)
        self.v_up = nn.Linear(kv_rank, num_heads * v_dim, bias=False)
        self.k_rope = nn.Linear(d_model, rope_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * v_dim, d_model, bias=False)
        self.rotary_emb = RotaryEmbedding(rope_dim, rope_base)

    def forward(self, x, cache=None):
        bsz, q_len, _ = x.size()
        past_len = cache[0].size(1) if cache is not None else 0
        position_ids = torch.arange(past_len, past_len + q_len, device=x.device)
        cos, sin = self.rotary_emb(position_ids)

        c_q = self.q_down(x)
        q_nope = self.q_up(c_q).view(bsz, q_len, self.num_heads, -1).transpose(1, 2)
        q_pe = rotate_pairs(self.q_rope(c_q).view(bsz, q_len, self.num_heads, -1).transpose(1, 2), cos, sin)
        compressed_kv, k_pe = self.kv_down(x), rotate_pairs(self.k_rope(x), cos, sin)
        if cache is not None:
            compressed_kv = torch.cat([cache[0], compressed_kv], dim=1)
            k_pe = torch.cat([cache[1], k_pe], dim=1)
        kv_len = compressed_kv.size(1)

        query_states = x.new_empty(bsz, self.num_heads, q_len, self.q_head_dim)
        query_states[..., : self.qk_nope_head_dim] = q_nope
        query_states[..., self.qk_nope_head_dim :] = q_pe
        key_states = x.new_empty(bsz, self.num_heads, kv_len, self.q_head_dim)
        k_nope = self.k_up(compressed_kv).view(bsz, kv_len, self.num_heads, -1)
        key_states[..., : self.qk_nope_head_dim] = k_nope.transpose(1, 2)
        key_states[..., self.qk_nope_head_dim :] = k_pe.unsqueeze(1)
        value_states = self.v_up(compressed_kv).view(bsz, kv_len, self.num_heads, -1).transpose(1, 2)

        causal_mask = torch.full((q_len, kv_len), torch.finfo(x.dtype).min, dtype=x.dtype, device=x.device)
        causal_mask = torch.triu(causal_mask, diagonal=past_len + 1)
        attn_weights = torch.matmul(query_states, key_states.transpose(2, 3)) * self.softmax_scale
        attn_weights = attn_weights + causal_mask
        attn_weights = F.softmax(attn_weights, dim=-1, dtype=torch.float32).to(x.dtype)
        attn_output = torch.matmul(attn_weights, value_states).transpose(1, 2).flatten(2)
        return self.o_proj(attn_output), (compressed_kv, k_pe)
