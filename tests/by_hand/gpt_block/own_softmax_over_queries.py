# mistakes: softmax-over-queries
"""A softmax of one's own, and heads as a part of the batch."""

import torch
from torch import nn


def shares(scores, axis):
    scores = scores - scores.amax(dim=axis, keepdim=True)
    powers = torch.exp(scores)
    return powers / powers.sum(dim=axis, keepdim=True)


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads for a width of {d_model}")
        self.num_heads = num_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, t):
        b, n, m = t.shape
        t = t.view(b, n, self.num_heads, m // self.num_heads).transpose(1, 2)
        return t.reshape(b * self.num_heads, n, -1)

    def forward(self, x):
        b, n, m = x.shape
        q, k, v = map(self.split, self.qkv_proj(x).chunk(3, dim=-1))
        scores = torch.bmm(q, k.transpose(1, 2)) / (m // self.num_heads) ** 0.5
        later = torch.ones(n, n, device=x.device).triu(1).bool()
        weights = shares(scores.masked_fill(later, float("-inf")), axis=1)  # first wrong
        out = torch.bmm(self.dropout(weights), v)
        out = out.reshape(b, self.num_heads, n, -1).transpose(1, 2).reshape(b, n, m)
        return self.o_proj(out)


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = Attention(d_model, num_heads, dropout)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential()
        self.mlp.add_module("fc", nn.Linear(d_model, 4 * d_model))
        self.mlp.add_module("act", nn.GELU())
        self.mlp.add_module("proj", nn.Linear(4 * d_model, d_model))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attn(self.ln_1(x)))
        x = x + self.drop(self.mlp(self.ln_2(x)))
        return x
