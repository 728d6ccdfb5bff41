# mistakes: scale-by-d-model
"""Heads stay on axis 2, all products are einsums, and the scale is that of the whole width."""

import torch
from torch import einsum, nn


class SelfAttention(nn.Module):
    def __init__(self, embed_size, heads, p):
        super().__init__()
        assert embed_size % heads == 0, "embedding size must be divisible by heads"
        self.embed_size, self.heads = embed_size, heads
        self.query = nn.Linear(embed_size, embed_size)
        self.key = nn.Linear(embed_size, embed_size)
        self.value = nn.Linear(embed_size, embed_size)
        self.output = nn.Linear(embed_size, embed_size)
        self.drop = nn.Dropout(p)

    def forward(self, x, mask):
        n, length, _ = x.shape
        queries = self.query(x).reshape(n, length, self.heads, -1)
        keys = self.key(x).reshape(n, length, self.heads, -1)
        values = self.value(x).reshape(n, length, self.heads, -1)
        energy = einsum("nqhd,nkhd->nhqk", queries, keys)
        if mask is not None:
            energy = energy.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        attention = torch.softmax(energy / self.embed_size**0.5, dim=3)  # first wrong
        out = einsum("nhqk,nkhd->nqhd", self.drop(attention), values)
        return self.output(out.reshape(n, length, self.embed_size))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn = SelfAttention(d_model, num_heads, dropout)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.mlp = nn.ModuleDict(
            {"fc": nn.Linear(d_model, hidden_dim), "proj": nn.Linear(hidden_dim, d_model)}
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        x = self.norm_1(self.dropout(self.self_attn(x, padding_mask)) + x)
        forward = self.mlp["proj"](self.mlp["fc"](x).relu())
        return self.norm_2(self.dropout(forward) + x)
