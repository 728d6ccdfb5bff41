# mistakes: output-projection-missing, mlp-residual-missing
# diagnosis: not named
"""A helper splits the fused projection by slices of the last axis."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, p):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads={num_heads} must divide d_model={d_model}")
        self.num_heads, self.d_model = num_heads, d_model
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(p)

    def third(self, packed, index):
        start = index * self.d_model
        part = packed[..., start : start + self.d_model]
        return part.unflatten(2, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x):
        packed = self.qkv_proj(x)
        q, k, v = self.third(packed, 0), self.third(packed, 1), self.third(packed, 2)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        length = x.shape[1]
        allowed = torch.ones((length, length), device=x.device).tril() == 1
        weights = scores.masked_fill(allowed.logical_not(), float("-inf")).softmax(dim=-1)
        joined = (self.drop(weights) @ v).transpose(1, 2).flatten(2)
        return joined  # first wrong


class MLP(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.gelu = nn.GELU()
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        return self.proj(self.gelu(self.fc(x)))


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = Attention(d_model, num_heads, dropout)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = MLP(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        residual = x
        x = residual + self.drop(self.attn(self.ln_1(x)))
        return self.drop(self.mlp(self.ln_2(x)))  # also wrong
