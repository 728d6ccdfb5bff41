# mistakes: mask-inverted
"""One projection for q, k and v, and a mask that is read like a key_padding_mask."""

import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model, nhead, dropout):
        super().__init__()
        if d_model % nhead != 0:
            raise ValueError("d_model must be divisible by nhead")
        self.nhead, self.p = nhead, dropout
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, src, key_padding_mask=None):
        b, t, c = src.shape
        q, k, v = (
            self.in_proj(src).view(b, t, 3, self.nhead, c // self.nhead).permute(2, 0, 3, 1, 4)
        )
        bias = src.new_zeros(b, 1, 1, t)
        if key_padding_mask is not None:
            hidden = key_padding_mask.view(b, 1, 1, t)
            bias = bias.masked_fill(hidden, float("-inf"))  # first wrong
        weights = F.softmax(q @ k.mT / (c // self.nhead) ** 0.5 + bias, dim=-1)
        weights = F.dropout(weights, self.p, self.training)
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, t, c))


class FeedForward(nn.Module):
    def __init__(self, d_model, dim_feedforward):
        super().__init__()
        self.fc = nn.Linear(d_model, dim_feedforward)
        self.proj = nn.Linear(dim_feedforward, d_model)

    def forward(self, src):
        return self.proj(F.relu(self.fc(src)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn = SelfAttention(d_model, num_heads, dropout)
        self.mlp = FeedForward(d_model, hidden_dim)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout_1, self.dropout_2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        x = self.norm_1(x + self.dropout_1(self.self_attn(x, padding_mask)))
        return self.norm_2(x + self.dropout_2(self.mlp(x)))
