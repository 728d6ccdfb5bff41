import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    """Multi-head self-attention with half-split RoPE on queries and keys.

    B batch, L length, M d_model, H heads, D = M / H head dim, T max_seq_len.
    Layers: qkv_proj Linear(M, 3M), rows: all of q, then k, then v; o_proj Linear(M, M).
    """

    def __init__(
        self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True
    ):
        super().__init__()
        # 1. Refuse M if H does not divide it. -> ValueError
        # 2. Store the head dim D = M / H and the number of heads. -> int
        # 3. Make qkv_proj: one layer for queries, keys and values. -> Linear(M, 3M)
        # 4. Make o_proj. -> Linear(M, M)
        # 5. Make the dropout of the attention weights. -> Dropout
        # 6. Compute the angles t * base**(-2i/D) in float32 or float64. -> [T, D/2]
        # 7. Store the cosines and sines: features i and i + D/2 have the same angle. -> [T, D]
        raise NotImplementedError

    def forward(self, x, mask=None, position_ids=None):
        """Return the attention output [B, L, M].

        x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend.
        position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1.
        """
        # 1. If there are no position_ids, use 0 .. L-1. -> [1, L]
        # 2. Project x once, and split the result into q, k and v. -> [B, L, M]
        # 3. Split each into heads, heads before positions. -> [B, H, L, D]
        # 4. Look up the cosines and sines of every position, for all heads. -> [B, 1, L, D]
        # 5. Rotate the pairs (i, i + D/2) of queries and keys, not of values. -> [B, H, L, D]
        # 6. Score every query with every key of its head, with scale and mask. -> [B, H, L, L]
        # 7. Apply the softmax over the keys, then the dropout. -> [B, H, L, L]
        # 8. Sum the values with these weights. -> [B, H, L, D]
        # 9. Join the heads of each token and project. -> [B, L, M]
        raise NotImplementedError
