# mistakes: scale-by-d-model, second-norm-missing
"""Scores and sums by einsum on the axes of the projection, without a transpose."""

import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        if width % heads != 0:
            raise ValueError(f"width {width}, heads {heads}")
        self.heads, self.width = heads, width
        self.qkv_proj = nn.Linear(width, 3 * width)
        self.o_proj = nn.Linear(width, width)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        q, k, v = self.qkv_proj(x).unflatten(-1, (3, self.heads, -1)).unbind(-3)
        s = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.width**0.5  # first wrong
        n = x.shape[1]
        hide = torch.triu(torch.ones(n, n, dtype=torch.bool, device=x.device), 1)
        w = self.drop(torch.softmax(s.masked_fill(hide, float("-inf")), dim=-1))
        return self.o_proj(torch.einsum("bhqk,bkhd->bqhd", w, v).flatten(2))


class Widen(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 4 * width)
        self.proj = nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.fc(x)
        h = 0.5 * h * (1 + torch.erf(h / 2**0.5))
        return self.proj(h)


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.ln_2 = nn.LayerNorm(d_model)
        self.attn = Mixer(d_model, num_heads, dropout)
        self.mlp = Widen(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attn(self.ln_1(x)))
        widened = self.mlp(x)  # also wrong
        return x + self.drop(widened)
