# mistakes: gelu
"""A short form with the activation of BERT."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, m, h, p):
        super().__init__()
        assert m % h == 0
        self.h, self.drop = h, nn.Dropout(p)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(m, m) for _ in range(4))

    def forward(self, x, real):
        q, k, v = (
            w(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for w in (self.wq, self.wk, self.wv)
        )
        s = q @ k.mT * q.shape[-1] ** -0.5
        s = s if real is None else torch.where(real[:, None, None], s, -torch.inf)
        return self.wo((self.drop(s.softmax(-1)) @ v).transpose(1, 2).flatten(2))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn = Attention(d_model, num_heads, dropout)
        self.mlp = nn.Sequential()
        self.mlp.add_module("fc", nn.Linear(d_model, hidden_dim))
        self.mlp.add_module("act", nn.GELU())
        self.mlp.add_module("proj", nn.Linear(hidden_dim, d_model))
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        x = self.norm_1(x + self.drop(self.self_attn(x, padding_mask)))
        return self.norm_2(x + self.drop(self.mlp(x)))  # first wrong
