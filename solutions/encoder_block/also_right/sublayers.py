"""Wrap each branch in an object that drops, adds and normalises, as in the Annotated Transformer.

The order of dropout, sum and norm stands in one place, so both branches have the same. A reader
must look into three classes to see what the block computes.
"""

import math

import torch
import torch.nn as nn


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, dropout):
        super().__init__()
        assert d_model % h == 0
        self.d_k, self.h = d_model // h, h
        self.w_q, self.w_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_v, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        nbatches = query.size(0)
        query, key, value = (
            layer(t).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for layer, t in zip((self.w_q, self.w_k, self.w_v), (query, key, value))
        )
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        p_attn = self.dropout(scores.softmax(dim=-1))
        joined = torch.matmul(p_attn, value).transpose(1, 2).contiguous()
        return self.w_o(joined.view(nbatches, -1, self.h * self.d_k))


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.fc, self.proj = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.proj(self.fc(x).relu())


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn = MultiHeadedAttention(num_heads, d_model, dropout)
        self.mlp = PositionwiseFeedForward(d_model, hidden_dim)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def sublayer(self, x, branch, norm):
        return norm(x + self.drop(branch(x)))

    def forward(self, x, padding_mask=None):
        mask = None if padding_mask is None else padding_mask.unsqueeze(-2)
        x = self.sublayer(x, lambda t: self.self_attn(t, t, t, mask), self.norm_1)
        return self.sublayer(x, self.mlp, self.norm_2)
