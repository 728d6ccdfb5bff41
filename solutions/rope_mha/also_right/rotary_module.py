"""Use three projections, a module for the tables, a float32 softmax and an additive mask.

Three products read x three times instead of once. For bfloat16 inputs, the float32 softmax is more
accurate but takes twice the memory, and the tables are part of the state_dict.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim: int, max_position_embeddings: int, base: float) -> None:
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.int64).float() / dim))
        freqs = torch.outer(torch.arange(max_position_embeddings, dtype=torch.float32), inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        self.register_buffer("cos_cached", emb.cos())
        self.register_buffer("sin_cached", emb.sin())

    def forward(self, x: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return F.embedding(position_ids, self.cos_cached).to(x.dtype), F.embedding(position_ids, self.sin_cached).to(x.dtype)


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


class RoPEMultiHeadAttention(nn.Module):
    def __init__(
        self, d_model: int, num_heads: int, max_seq_len: int = 2048, rope_base: float = 10000.0, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} must be a multiple of num_heads={num_heads}")
        self.num_heads, self.head_dim, self.attention_dropout = num_heads, d_model // num_heads, dropout
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.rotary_emb = RotaryEmbedding(self.head_dim, max_seq_len, rope_base)

    def forward(self, x, mask=None, position_ids=None):
        bsz, q_len, _ = x.size()
        if position_ids is None:
            position_ids = torch.arange(q_len, device=x.device).unsqueeze(0)
        shape = (bsz, q_len, self.num_heads, self.head_dim)
        query, key, value = (proj(x).view(shape).transpose(1, 2) for proj in (self.q_proj, self.k_proj, self.v_proj))
        cos, sin = self.rotary_emb(value, position_ids)
        query, key = apply_rotary_pos_emb(query, key, cos, sin)
        attn = torch.matmul(query, key.transpose(2, 3)) * self.head_dim**-0.5
        if mask is not None:
            bias = torch.zeros(mask.shape, dtype=attn.dtype, device=attn.device).masked_fill(mask.logical_not(), torch.finfo(attn.dtype).min)
            attn = attn + bias
        attn = F.softmax(attn, dim=-1, dtype=torch.float32).to(query.dtype)
        attn = F.dropout(attn, p=self.attention_dropout, training=self.training)
        out = torch.matmul(attn, value).transpose(1, 2).contiguous().reshape(bsz, q_len, -1)
        return self.o_proj(out)
