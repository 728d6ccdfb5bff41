# mistakes: heads-merged-without-transpose
"""Everything in two methods of one class; the parts only hold layers."""

import torch
from torch import nn


class Part(nn.Module):
    """A holder of layers without a forward."""


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} features, {num_heads} heads")
        self.num_heads = num_heads
        self.size = d_model // num_heads
        self.ln_1 = nn.LayerNorm(d_model)
        self.ln_2 = nn.LayerNorm(d_model)
        self.attn, self.mlp = Part(), Part()
        self.attn.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.attn.o_proj = nn.Linear(d_model, d_model)
        self.mlp.fc = nn.Linear(d_model, 4 * d_model)
        self.mlp.proj = nn.Linear(4 * d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def attend(self, x):
        b, n, m = x.shape
        parts = self.attn.qkv_proj(x).split(m, dim=-1)
        q, k, v = [p.view(b, n, self.num_heads, self.size).permute(0, 2, 1, 3) for p in parts]
        s = torch.einsum("bhid,bhjd->bhij", q, k) * self.size**-0.5
        keep = torch.tril(torch.ones_like(s, dtype=torch.bool))
        w = self.drop(s.masked_fill(~keep, float("-inf")).softmax(dim=-1))
        mixed = torch.einsum("bhij,bhjd->bhid", w, v)
        joined = mixed.reshape(b, n, m)  # first wrong
        return self.attn.o_proj(joined)

    def transform(self, x):
        return self.mlp.proj(nn.functional.gelu(self.mlp.fc(x)))

    def forward(self, x):
        x = x + self.drop(self.attend(self.ln_1(x)))
        return x + self.drop(self.transform(self.ln_2(x)))
