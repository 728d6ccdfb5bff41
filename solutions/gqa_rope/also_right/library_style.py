"""Compute the cosines and sines in each call, and use a float32 softmax, as model libraries do.

There is no table and no limit from max_seq_len, but each call computes B * L * D cosines and as
many sines. The float32 softmax is more accurate in half precision and takes twice the memory there.
"""

import torch
import torch.nn.functional as F
from torch import nn


class LlamaRotaryEmbedding(nn.Module):
    def __init__(self, dim, max_position_embeddings=2048, base=10000.0):
        super().__init__()
        self.inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        self.max_position_embeddings = max_position_embeddings

    @torch.no_grad()
    def forward(self, x, position_ids):
        inv_freq = self.inv_freq.to(x.device)[None, :, None].expand(position_ids.shape[0], -1, 1)
        freqs = (inv_freq @ position_ids[:, None, :].float()).transpose(1, 2)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos().to(dtype=x.dtype), emb.sin().to(dtype=x.dtype)


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def repeat_kv(hidden_states: torch.Tensor, n_rep: int) -> torch.Tensor:
    batch, num_key_value_heads, slen, head_dim = hidden_states.shape
    if n_rep == 1:
        return hidden_states
    hidden_states = hidden_states[:, :, None, :, :].expand(batch, num_key_value_heads, n_rep, slen, head_dim)
    return hidden_states.reshape(batch, num_key_value_heads * n_rep, slen, head_dim)


class LlamaAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, max_seq_len: int = 2048, rope_base: float = 10000.0) -> None:
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(f"{d_model=} {num_heads=} {num_kv_heads=}")
        self.num_heads, self.num_key_value_heads, self.head_dim = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        self.rotary_emb = LlamaRotaryEmbedding(self.head_dim, max_seq_len, rope_base)

    def forward(self, x, mask=None, position_ids=None):
        bsz, q_len, _ = x.size()
        if position_ids is None:
            position_ids = torch.arange(q_len, device=x.device).unsqueeze(0)
        query = self.q_proj(x).view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        key = self.k_proj(x).view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        value = self.v_proj(x).view(bsz, q_len, -1, self.head_dim).transpose(1, 2)
        cos, sin = (table.unsqueeze(1) for table in self.rotary_emb(value, position_ids))
        query, key = (query * cos) + (rotate_half(query) * sin), (key * cos) + (rotate_half(key) * sin)
        n_rep = self.num_heads // self.num_key_value_heads
        key, value = repeat_kv(key, n_rep), repeat_kv(value, n_rep)
        attn_weights = torch.matmul(query, key.transpose(2, 3)) / self.head_dim**0.5
        if mask is not None:
            attn_weights = attn_weights + torch.zeros_like(mask, dtype=attn_weights.dtype).masked_fill(~mask, torch.finfo(attn_weights.dtype).min)
        attn_weights = F.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)
        attn_output = torch.matmul(attn_weights, value).transpose(1, 2).contiguous()
        return self.o_proj(attn_output.reshape(bsz, q_len, -1))
