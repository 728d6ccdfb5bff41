# mistakes: one-norm-for-both
"""Layers in dicts of modules; two functions hold the computation."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def heads_of(t, count):
    return t.unflatten(-1, (count, -1)).movedim(-2, -3)


def attention(x, layers, count, drop):
    q, k, v = (heads_of(t, count) for t in layers["qkv_proj"](x).tensor_split(3, -1))
    logits = q @ (k / math.sqrt(k.shape[-1])).transpose(-1, -2)
    seen = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
    logits = torch.where(seen, logits, torch.finfo(logits.dtype).min)
    mixed = drop(F.softmax(logits, dim=-1)) @ v
    return layers["o_proj"](mixed.movedim(-3, -2).flatten(-2))


def feed_forward(x, layers):
    return layers["proj"](F.gelu(layers["fc"](x)))


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} % {num_heads} != 0")
        self.num_heads = num_heads
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = nn.ModuleDict(
            {"qkv_proj": nn.Linear(d_model, 3 * d_model), "o_proj": nn.Linear(d_model, d_model)}
        )
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = nn.ModuleDict(
            {"fc": nn.Linear(d_model, 4 * d_model), "proj": nn.Linear(4 * d_model, d_model)}
        )
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        attended = attention(self.ln_1(x), self.attn, self.num_heads, self.drop)
        x = x + self.drop(attended)
        inner = self.ln_1(x)  # first wrong
        return x + self.drop(feed_forward(inner, self.mlp))
