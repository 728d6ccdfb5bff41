import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    """Multi-head self-attention whose queries and keys are turned by their positions (half-split RoPE).

    B batch, L length, M d_model, H heads, D = M / H head dim, T max_seq_len.
    Layers: qkv_proj Linear(M, 3M), rows: all of q, then k, then v; o_proj Linear(M, M).
    """

    def __init__(
        self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True
    ):
        super().__init__()
        # 1. Refuse an M that H does not divide. -> ValueError
        # 2. Keep the head dim D = M / H and the number of heads. -> int
        # 3. Make qkv_proj: queries, keys and values from one layer. -> Linear(M, 3M)
        # 4. Make o_proj. -> Linear(M, M)
        # 5. Make the dropout of the attention weights. -> Dropout
        # 6. The angle of every position and pair, t * base**(-2i/D), in float32 or finer. -> [T, D/2]
        # 7. Keep the cosines and sines: one angle serves features i and i + D/2. -> [T, D]
        raise NotImplementedError

    def forward(self, x, mask=None, position_ids=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M].

        position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1.
        """
        # 1. Without position_ids, take 0 .. L-1. -> [1, L]
        # 2. Project x once, and cut out q, k and v, a third each. -> [B, L, M]
        # 3. Cut each into heads, heads before positions. -> [B, H, L, D]
        # 4. Look up the cosines and sines of every token's position, the same for all heads. -> [B, 1, L, D]
        # 5. Turn the pairs (i, i + D/2) of queries and keys, not of values. -> [B, H, L, D]
        # 6. Score every query with every key of its head, scaled; mask before the softmax. -> [B, H, L, L]
        # 7. Softmax over the keys, then dropout. -> [B, H, L, L]
        # 8. Weight the values. -> [B, H, L, D]
        # 9. Put the heads of a token side by side again and project. -> [B, L, M]
        raise NotImplementedError
