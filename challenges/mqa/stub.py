import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    """Multi-query attention: H query heads, and one key head and one value head that all of them use.

    B batch, L length, M d_model, H query heads, D = M / H head dim.
    Layers: q_proj Linear(M, M), k_proj and v_proj Linear(M, D), o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        raise NotImplementedError

    def forward(self, x, mask=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M]."""
        raise NotImplementedError
