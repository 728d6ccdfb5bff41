"""Attention of one head."""

from torch import nn


class OneHead(nn.Module):
    """Layers: q_proj, k_proj and v_proj, each Linear(width, width)."""

    def __init__(self, width, dropout=0.0):
        """Width >= 1."""
        super().__init__()
        # 1. Refuse a width below 1. -> ValueError
        raise NotImplementedError

    def forward(self, x, mask=None):
        """X [B, L, width], mask [L, L], True = visible -> out [B, L, width], weights [B, L, L]"""
        # 1. Score, mask, softmax, weigh. -> [B, L, width], [B, L, L]
        raise NotImplementedError
