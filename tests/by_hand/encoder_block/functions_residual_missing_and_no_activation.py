# mistakes: residual-of-the-attention-missing, no-activation
"""Functions that get their layers, a lost residual, and a lost ReLU."""

import math

import torch
from torch import nn


def attend(x, layers, num_heads, drop, real):
    q, k, v = (
        layers[name](x).unflatten(-1, (num_heads, -1)).movedim(2, 1) for name in ("q", "k", "v")
    )
    logits = torch.matmul(q, k.mT) / math.sqrt(q.shape[-1])
    if real is not None:
        logits = torch.where(real[:, None, None, :], logits, torch.finfo(x.dtype).min)
    shares = drop(torch.softmax(logits, dim=-1))
    return layers["dense"](torch.matmul(shares, v).movedim(1, 2).flatten(2))


def widen(x, layers):
    hidden = layers["fc"](x)
    return layers["proj"](hidden)  # also wrong


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads does not divide d_model")
        self.num_heads = num_heads
        square = {name: nn.Linear(d_model, d_model) for name in ("q", "k", "v", "dense")}
        self.self_attn = nn.ModuleDict(square)
        wide = {"fc": nn.Linear(d_model, hidden_dim), "proj": nn.Linear(hidden_dim, d_model)}
        self.mlp = nn.ModuleDict(wide)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        found = attend(x, self.self_attn, self.num_heads, self.drop, padding_mask)
        x = self.norm_1(self.drop(found))  # first wrong
        return self.norm_2(x + self.drop(widen(x, self.mlp)))
