import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    """Multi-query attention: H query heads, and one key head and one value head that all of them use.

    B batch, L length, M d_model, H query heads, D = M / H head dim.
    Layers: q_proj Linear(M, M), k_proj and v_proj Linear(M, D), o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        # 1. Refuse an M that H does not divide. -> ValueError
        # 2. Keep the head dim D = M / H and the number of heads. -> int
        # 3. Make q_proj and o_proj: the queries have H heads. -> Linear(M, M)
        # 4. Make k_proj and v_proj: a single head. -> Linear(M, D)
        # 5. Make the dropout of the attention weights. -> Dropout
        raise NotImplementedError

    def forward(self, x, mask=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M]."""
        # 1. Project x to queries and cut them into heads, heads before positions. -> [B, H, L, D]
        # 2. Project x to keys and values: one head each, nothing to cut. -> [B, L, D]
        # 3. Give them an axis that all heads share, behind the batch. -> [B, 1, L, D]
        # 4. Score every query of every head with every key, scaled. -> [B, H, L, L]
        # 5. Shut out what the mask forbids, before the softmax. -> [B, H, L, L]
        # 6. Softmax over the keys, then dropout. -> [B, H, L, L]
        # 7. Weight the values. -> [B, H, L, D]
        # 8. Put the heads of a token side by side again and project. -> [B, L, M]
        raise NotImplementedError
