"""Keep the tables as buffers that grow when a longer sequence comes, as older Llama code does.

Short sequences need only short tables. If position_ids are given, reading their maximum makes the
CPU wait for the GPU and breaks the graph of torch.compile.
"""

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, max_position_embeddings=2048, base=10000):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.int64).float() / dim))
        self.inv_freq = inv_freq  # not a buffer: must stay float32
        self.max_seq_len_cached = 0
        self.register_buffer("cos_cached", torch.empty(0), persistent=False)
        self.register_buffer("sin_cached", torch.empty(0), persistent=False)

    def _set_cos_sin_cache(self, seq_len, device):
        self.max_seq_len_cached = seq_len
        t = torch.arange(seq_len, device=device, dtype=torch.float32)
        freqs = torch.outer(t, self.inv_freq.to(device))
        emb = torch.cat((freqs, freqs), dim=-1)
        self.register_buffer("cos_cached", emb.cos(), persistent=False)
        self.register_buffer("sin_cached", emb.sin(), persistent=False)

    def forward(self, x, seq_len):
        if seq_len > self.max_seq_len_cached:
            self._set_cos_sin_cache(seq_len, x.device)
        return self.cos_cached[:seq_len].to(x.dtype), self.sin_cached[:seq_len].to(x.dtype)


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


class RoPEMultiHeadAttention(nn.Module):
    def __init__(
        self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True
    ):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} {num_heads=}")
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.rotary_emb = RotaryEmbedding(self.head_dim, max_seq_len, rope_base)
        self.dropout = dropout

    def forward(self, x, mask=None, position_ids=None):
        B, L, M = x.shape
        q, k, v = (
            self.qkv_proj(x).view(B, L, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        )
        longest = L if position_ids is None else int(position_ids.max().item()) + 1
        cos, sin = self.rotary_emb(v, seq_len=longest)
        if position_ids is None:
            position_ids = torch.arange(L, device=x.device).unsqueeze(0)
        cos, sin = cos[position_ids].unsqueeze(1), sin[position_ids].unsqueeze(1)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        s = torch.matmul(q, k.transpose(2, 3)) * self.head_dim**-0.5
        if mask is not None:
            s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
        p = nn.functional.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype)
        p = nn.functional.dropout(p, self.dropout, self.training)
        return self.o_proj(torch.matmul(p, v).transpose(1, 2).reshape(B, L, M))
