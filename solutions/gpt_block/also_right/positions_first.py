"""Put the axis of positions before the batch, [L, B, H, D], as in older code, and use baddbmm.

All heads of all sequences form one batch of B * H matrices, so one baddbmm adds the mask while it
multiplies. The transposes at both ends copy the input and the output once.
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

    def forward(self, x):
        length, batch, width = x.shape
        parts = self.query_key_value(x).view(length, batch, 3, self.h, width // self.h)
        q, k, v = (p.reshape(length, batch * self.h, -1).transpose(0, 1) for p in parts.unbind(2))
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        bias = x.new_zeros(length, length).masked_fill(later, torch.finfo(x.dtype).min)
        scores = torch.baddbmm(bias.expand(batch * self.h, -1, -1), q, k.mT, alpha=q.shape[-1] ** -0.5)
        mixed = torch.bmm(self.drop(torch.softmax(scores, 2)), v)
        return self.dense(mixed.transpose(0, 1).reshape(length, batch, width))


class Widen(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.act = nn.GELU()
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        return self.c_proj(self.act(self.c_fc(x)))


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(d_model), Attend(d_model, num_heads, dropout)
        self.ln_2, self.mlp = nn.LayerNorm(d_model), Widen(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x.transpose(0, 1)
        x = x + self.drop(self.attn(self.ln_1(x)))
        x = x + self.drop(self.mlp(self.ln_2(x)))
        return x.transpose(0, 1)
