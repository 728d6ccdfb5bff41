# mistakes: values-from-k-proj, second-norm-missing
"""Positions before the batch, values from the wrong layer, and a norm that is never called."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        assert d_model % num_heads == 0
        self.h, self.drop = num_heads, nn.Dropout(dropout)
        self.w_q, self.w_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.w_v, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x, real):
        length, batch, width = x.shape
        split = lambda t: t.reshape(length, batch * self.h, width // self.h).transpose(0, 1)
        q, k = split(self.w_q(x)), split(self.w_k(x))
        scores = torch.bmm(q, k.mT) * (width // self.h) ** -0.5
        if real is not None:
            scores = scores.masked_fill(~real.repeat_interleave(self.h, 0)[:, None], -1e9)
        mixed = torch.bmm(self.drop(scores.softmax(2)), split(self.w_k(x)))  # first wrong
        return self.w_o(mixed.transpose(0, 1).reshape(length, batch, width))


class MLP(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.fc, self.act = nn.Linear(d_model, hidden_dim), nn.ReLU()
        self.proj = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        return self.proj(self.act(self.fc(x)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn = Attention(d_model, num_heads, dropout)
        self.mlp = MLP(d_model, hidden_dim)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        x = x.transpose(0, 1)
        x = self.norm_1(x + self.drop(self.self_attn(x, padding_mask)))
        x = x + self.drop(self.mlp(x))
        return x.transpose(0, 1)  # also wrong
