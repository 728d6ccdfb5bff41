import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """Grouped-query attention: query head h uses key/value head h // (H // Hkv).

    B batch, L length, M d_model, H query heads, Hkv key/value heads, D = M / H head dim.
    Layers: q_proj Linear(M, M), k_proj and v_proj Linear(M, Hkv * D), o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        raise NotImplementedError

    def forward(self, x, mask=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M]."""
        raise NotImplementedError
