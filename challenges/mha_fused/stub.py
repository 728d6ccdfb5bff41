import torch
from torch import nn


class FusedMultiHeadAttention(nn.Module):
    """Multi-head self-attention whose queries, keys and values come from one projection.

    B batch, L length, M d_model, H heads, D = M / H head dim.
    Layers: qkv_proj Linear(M, 3 * M), rows: all of q, then all of k, then all of v;
    o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        # 1. Refuse M if H does not divide it. -> ValueError
        # 2. Store the head dim D = M / H and the number of heads. -> int
        # 3. Make qkv_proj: one layer for queries, keys and values. -> Linear(M, 3 * M)
        # 4. Make o_proj. -> Linear(M, M)
        # 5. Make the dropout of the attention weights. -> Dropout
        raise NotImplementedError

    def forward(self, x, mask=None):
        """Return the attention output [B, L, M].

        x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend.
        """
        # 1. Project x once, to queries, keys and values side by side. -> [B, L, 3 * M]
        # 2. Split into q, k and v, then into heads, heads before positions. -> [B, H, L, D]
        # 3. Score every query with every key of its head, with the scale. -> [B, H, L, L]
        # 4. Apply the mask before the softmax. -> [B, H, L, L]
        # 5. Apply the softmax over the keys, then the dropout. -> [B, H, L, L]
        # 6. Sum the values with these weights. -> [B, H, L, D]
        # 7. Join the heads of each token and project. -> [B, L, M]
        raise NotImplementedError
