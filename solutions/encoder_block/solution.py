"""A block of the first Transformer's encoder: self-attention and an MLP, each with a norm behind.

    x = norm_1(x + dropout(self_attn(x)))      the mask hides padding
    x = norm_2(x + dropout(mlp(x)))            with mlp(y) = proj(relu(fc(y)))

The norms are on the sums, so each branch reads what a norm returned.
Vaswani et al. 2017, "Attention Is All You Need", section 3.1.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Self-attention with H heads over all real tokens: [B, L, M] -> [B, L, M]."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, t):
        """Return [B, H, L, D] of t [B, L, M]."""
        batch, length, _ = t.shape
        return t.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x, padding_mask):
        """padding_mask: bool [B, L], True = a real token, or None."""
        q = self.split_heads(self.q_proj(x))  # [B, H, L, D]
        k = self.split_heads(self.k_proj(x))
        v = self.split_heads(self.v_proj(x))

        scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
        scores = scores / math.sqrt(self.head_dim)
        if padding_mask is not None:
            # keys are the last axis; [B, L] alone would be read as [L, L]
            real = padding_mask[:, None, None, :]  # [B, 1, 1, L]
            scores = scores.masked_fill(~real, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(x.shape)  # [B, L, M]
        return self.o_proj(merged)


class MLP(nn.Module):
    """Two layers with a ReLU between them: [B, L, M] -> [B, L, M]."""

    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.fc = nn.Linear(d_model, hidden_dim)
        self.proj = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        hidden = F.relu(self.fc(x))  # [B, L, hidden_dim]
        return self.proj(hidden)


class EncoderBlock(nn.Module):
    """B batch, L length, M d_model, H heads, D = M / H head dim."""

    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn = Attention(d_model, num_heads, dropout)
        self.norm_1 = nn.LayerNorm(d_model)
        self.mlp = MLP(d_model, hidden_dim)
        self.norm_2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padding_mask=None):
        attended = self.self_attn(x, padding_mask)
        x = x + self.dropout(attended)
        x = self.norm_1(x)  # post-norm: the norm reads the sum
        changed = self.mlp(x)
        x = x + self.dropout(changed)
        return self.norm_2(x)
