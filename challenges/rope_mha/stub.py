import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    """Multi-head self-attention whose queries and keys are turned by their positions (half-split RoPE).

    B batch, L length, M d_model, H heads, D = M / H head dim, T max_seq_len.
    Layers: qkv_proj Linear(M, 3M), rows: all of q, then k, then v; o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        raise NotImplementedError

    def forward(self, x, mask=None, position_ids=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M].

        position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1.
        """
        raise NotImplementedError
