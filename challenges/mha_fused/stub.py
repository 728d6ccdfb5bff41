import torch
from torch import nn


class FusedMultiHeadAttention(nn.Module):
    """Multi-head self-attention whose queries, keys and values come out of one projection.

    B batch, L length, M d_model, H heads, D = M / H head dim.
    Layers: qkv_proj Linear(M, 3 * M), its rows all of q, then all of k, then all of v; o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        # 1. Refuse an M that H does not divide. -> ValueError
        # 2. Keep the head dim D = M / H and the number of heads. -> int
        # 3. Make qkv_proj: queries, keys and values from one layer. -> Linear(M, 3 * M)
        # 4. Make o_proj. -> Linear(M, M)
        # 5. Make the dropout of the attention weights. -> Dropout
        raise NotImplementedError

    def forward(self, x, mask=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M]."""
        # 1. Project x once, to queries, keys and values side by side. -> [B, L, 3 * M]
        # 2. Cut out q, k and v, a third each, and their heads, heads before positions. -> [B, H, L, D]
        # 3. Score every query with every key of its head, scaled. -> [B, H, L, L]
        # 4. Shut out what the mask forbids, before the softmax. -> [B, H, L, L]
        # 5. Softmax over the keys, then dropout. -> [B, H, L, L]
        # 6. Weight the values. -> [B, H, L, D]
        # 7. Put the heads of a token side by side again and project. -> [B, L, M]
        raise NotImplementedError
