# mistakes: heads-merged-without-transpose
"""The block calls the layers of its parts itself, and joins [B, H, L, D] as it lies in memory."""

import math

import torch
from torch import nn


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("bad number of heads")
        self.num_heads = num_heads
        names = ("q_proj", "k_proj", "v_proj", "out_proj")
        self.self_attn = nn.ModuleDict({name: nn.Linear(d_model, d_model) for name in names})
        self.mlp = nn.ModuleDict(
            {"fc": nn.Linear(d_model, hidden_dim), "proj": nn.Linear(hidden_dim, d_model)}
        )
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def heads(self, name, x):
        split = self.self_attn[name](x).reshape(*x.shape[:2], self.num_heads, -1)
        return split.permute(0, 2, 1, 3)

    def forward(self, x, padding_mask=None):
        queries, keys, values = (self.heads(name, x) for name in ("q_proj", "k_proj", "v_proj"))
        logits = torch.matmul(queries, keys.transpose(2, 3)) / math.sqrt(keys.size(-1))
        if padding_mask is not None:
            logits = logits + torch.zeros_like(logits).masked_fill(
                ~padding_mask.unsqueeze(1).unsqueeze(2), -torch.inf
            )
        mixed = torch.matmul(self.drop(logits.softmax(-1)), values)
        found = self.self_attn["out_proj"](mixed.reshape(x.shape))  # first wrong
        x = self.norm_1(x + self.drop(found))
        change = self.mlp["proj"](torch.relu(self.mlp["fc"](x)))
        return self.norm_2(x + self.drop(change))
