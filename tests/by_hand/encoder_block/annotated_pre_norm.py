# mistakes: pre-norm
"""Names as in the Annotated Transformer, with its norm in front of each sublayer."""

import math

import torch
import torch.nn as nn


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, dropout):
        super().__init__()
        assert d_model % h == 0
        self.d_k, self.h = d_model // h, h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        n = query.size(0)
        query, key, value = [
            layer(t).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for layer, t in zip((self.w_q, self.w_k, self.w_v), (query, key, value))
        ]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        out = torch.matmul(self.dropout(scores.softmax(dim=-1)), value)
        return self.w_o(out.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.fc = nn.Linear(d_model, d_ff)
        self.proj = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.proj(self.fc(x).relu())


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadedAttention(num_heads, d_model, dropout)
        self.mlp = FeedForward(d_model, hidden_dim)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        mask = None if padding_mask is None else padding_mask[:, None, None]
        y = self.norm_1(x)  # first wrong
        x = x + self.drop(self.self_attn(y, y, y, mask))
        y = self.norm_2(x)
        return x + self.drop(self.mlp(y))
