"""A block of GPT-2: causal attention and an MLP, each pre-norm and with a residual.

    x = x + dropout(attn(ln_1(x)))
    x = x + dropout(mlp(ln_2(x)))        with mlp(y) = proj(gelu(fc(y)))

The norms are on the branches, so x itself passes through all blocks unchanged.
Radford et al. 2019, "Language Models are Unsupervised Multitask Learners" (GPT-2).
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Causal self-attention with H heads: [B, L, M] -> [B, L, M]."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, d_model = x.shape
        q, k, v = self.qkv_proj(x).chunk(3, dim=-1)
        # view, then transpose: the features of one head are next to each other
        q = q.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

        scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
        scores = scores / math.sqrt(self.head_dim)
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        scores = scores.masked_fill(~causal, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, d_model)
        return self.o_proj(merged)


class MLP(nn.Module):
    """Two layers with a GELU between them: [B, L, M] -> [B, L, M]."""

    def __init__(self, d_model):
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        hidden = F.gelu(self.fc(x))  # [B, L, 4M]
        return self.proj(hidden)


class GPTBlock(nn.Module):
    """B batch, L length, M d_model, H heads, D = M / H head dim."""

    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = Attention(d_model, num_heads, dropout)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = MLP(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        attended = self.attn(self.ln_1(x))
        x = x + self.dropout(attended)
        changed = self.mlp(self.ln_2(x))
        return x + self.dropout(changed)
