# mistakes: relu-for-gelu
"""An MLP as nn.Sequential with ReLU, and matmul with permuted axes."""

from collections import OrderedDict

import torch
from torch import nn


class GPTBlock(nn.Module):
    class Attn(nn.Module):
        def __init__(self, width, heads, p):
            super().__init__()
            self.heads, self.p = heads, p
            self.qkv_proj = nn.Linear(width, width * 3)
            self.o_proj = nn.Linear(width, width)

        def forward(self, x):
            batch, length, width = x.size()
            size = width // self.heads
            q, k, v = self.qkv_proj(x).view(batch, length, 3, self.heads, size).unbind(2)
            q, k, v = q.permute(0, 2, 1, 3), k.permute(0, 2, 3, 1), v.permute(0, 2, 1, 3)
            scores = torch.matmul(q, k).div(size**0.5)
            index = torch.arange(length, device=x.device)
            scores = scores.masked_fill(index.unsqueeze(0) > index.unsqueeze(1), -1e9)
            weights = nn.functional.dropout(scores.softmax(3), self.p, self.training)
            return self.o_proj(torch.matmul(weights, v).permute(0, 2, 1, 3).flatten(2))

    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model // num_heads * num_heads != d_model:
            raise ValueError(f"d_model {d_model} and num_heads {num_heads} do not fit")
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = GPTBlock.Attn(d_model, num_heads, dropout)
        self.ln_2 = nn.LayerNorm(d_model)
        layers = OrderedDict(
            fc=nn.Linear(d_model, 4 * d_model),
            act=nn.ReLU(),
            proj=nn.Linear(4 * d_model, d_model),
            drop=nn.Dropout(dropout),
        )
        self.mlp = nn.Sequential(layers)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        y = x + self.drop(self.attn(self.ln_1(x)))
        z = self.mlp(self.ln_2(y))  # first wrong
        return y + z
