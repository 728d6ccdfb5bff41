import torch
from torch import nn


class FusedMultiHeadAttention(nn.Module):
    """Multi-head self-attention whose queries, keys and values come out of one projection.

    B batch, L length, M d_model, H heads, D = M / H head dim.
    Layers: qkv_proj Linear(M, 3 * M), its rows all of q, then all of k, then all of v; o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        raise NotImplementedError

    def forward(self, x, mask=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M]."""
        raise NotImplementedError
