"""Put the axis of positions before the batch, [L, B, M], as in older code, and use baddbmm.

All heads of all sequences form one batch of B * H matrices, so one baddbmm adds the mask while it
multiplies. The mask is copied for each head, and the transposes at both ends copy x and the output.
"""

import torch
from torch import nn


class Attend(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        assert d_model % num_heads == 0, (d_model, num_heads)
        self.h, self.drop = num_heads, nn.Dropout(dropout)
        self.query_key_value = nn.Linear(d_model, 3 * d_model)
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, x, bias):
        length, batch, width = x.shape
        parts = self.query_key_value(x).view(length, batch, 3, self.h, width // self.h)
        q, k, v = (p.reshape(length, batch * self.h, -1).transpose(0, 1) for p in parts.unbind(2))
        bias = bias.repeat_interleave(self.h, dim=0)  # [B * H, 1, L]
        scores = torch.baddbmm(bias, q, k.mT, alpha=q.shape[-1] ** -0.5)
        mixed = torch.bmm(self.drop(torch.softmax(scores, 2)), v)
        return self.dense(mixed.transpose(0, 1).reshape(length, batch, width))


class Widen(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.c_fc = nn.Linear(d_model, hidden_dim)
        self.act = nn.ReLU()
        self.c_proj = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        return self.c_proj(self.act(self.c_fc(x)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn, self.norm_1 = Attend(d_model, num_heads, dropout), nn.LayerNorm(d_model)
        self.mlp, self.norm_2 = Widen(d_model, hidden_dim), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        batch, length, _ = x.shape
        bias = x.new_zeros(batch, 1, length)
        if padding_mask is not None:
            bias.masked_fill_(~padding_mask[:, None, :], float("-inf"))
        x = x.transpose(0, 1)
        x = self.norm_1(x + self.drop(self.self_attn(x, bias)))
        x = self.norm_2(x + self.drop(self.mlp(x)))
        return x.transpose(0, 1)
