"""Attention of one head: softmax(q k^T / sqrt(width)) v."""

import math

import torch
from torch import nn


class OneHead(nn.Module):
    """Layers: q_proj, k_proj and v_proj, each Linear(width, width)."""

    def __init__(self, width, dropout=0.0):
        """Width >= 1."""
        super().__init__()
        if width < 1:
            raise ValueError(f"width is {width}; it must be at least 1")
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        """X [B, L, width], mask [L, L], True = visible -> out [B, L, width], weights [B, L, L]"""
        scores = self.q_proj(x) @ self.k_proj(x).transpose(-2, -1)
        scores = scores / math.sqrt(x.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return weights @ self.v_proj(x), weights
