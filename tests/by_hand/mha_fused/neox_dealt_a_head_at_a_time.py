# mistakes: dealt-a-head-at-a-time
"""Heads first, thirds last, as GPT-NeoX cuts its query_key_value; the mask through torch.where."""

import torch
from torch import nn


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"hidden size {d_model} is not divisible by {num_heads} heads")
        self.num_attention_heads = num_heads
        self.head_size = d_model // num_heads
        self.norm_factor = self.head_size**-0.5
        self.qkv_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.attention_dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        per_head = self.qkv_proj(x).view(b, n, self.num_attention_heads, 3 * self.head_size)  # first wrong
        query, key, value = per_head.transpose(1, 2).chunk(3, dim=-1)
        attn = torch.matmul(query * self.norm_factor, key.transpose(-1, -2))
        if mask is not None:
            attn = torch.where(mask, attn, torch.finfo(attn.dtype).min)
        attn = nn.functional.softmax(attn, dim=-1)
        attn = self.attention_dropout(attn)
        out = torch.matmul(attn, value)
        return self.o_proj(out.permute(0, 2, 1, 3).reshape(b, n, m))
