import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    """Multi-query attention: H query heads share one key head and one value head.

    B batch, L length, M d_model, H query heads, D = M / H head dim.
    Layers: q_proj Linear(M, M), k_proj and v_proj Linear(M, D), o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        # 1. Refuse M if H does not divide it. -> ValueError
        # 2. Store the head dim D = M / H and the number of heads. -> int
        # 3. Make q_proj and o_proj for H heads. -> Linear(M, M)
        # 4. Make k_proj and v_proj for a single head. -> Linear(M, D)
        # 5. Make the dropout of the attention weights. -> Dropout
        raise NotImplementedError

    def forward(self, x, mask=None):
        """Return the attention output [B, L, M].

        x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend.
        """
        # 1. Project x to queries. Split them into heads, heads before positions. -> [B, H, L, D]
        # 2. Project x to keys and values: one head each, so there is nothing to split. -> [B, L, D]
        # 3. Add an axis that all heads share, after the batch. -> [B, 1, L, D]
        # 4. Score every query of every head with every key, with the scale. -> [B, H, L, L]
        # 5. Apply the mask before the softmax. -> [B, H, L, L]
        # 6. Apply the softmax over the keys, then the dropout. -> [B, H, L, L]
        # 7. Sum the values with these weights. -> [B, H, L, D]
        # 8. Join the heads of each token and project. -> [B, L, M]
        raise NotImplementedError
