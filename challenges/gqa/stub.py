import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """Grouped-query attention: query head h uses key/value head h // (H // Hkv).

    B batch, L length, M d_model, H query heads, Hkv key/value heads, D = M / H head dim.
    Layers: q_proj Linear(M, M), k_proj and v_proj Linear(M, Hkv * D), o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        # 1. Refuse M if H does not divide it, and H if Hkv does not divide it. -> ValueError
        # 2. Store the head dim D = M / H and the numbers of heads. -> int
        # 3. Make q_proj and o_proj for H heads. -> Linear(M, M)
        # 4. Make k_proj and v_proj for only Hkv heads. -> Linear(M, Hkv * D)
        # 5. Make the dropout of the attention weights. -> Dropout
        raise NotImplementedError

    def forward(self, x, mask=None):
        """Return the attention output [B, L, M].

        x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend.
        """
        # 1. Project x to queries. Split them into heads, heads before positions. -> [B, H, L, D]
        # 2. Do the same for keys and values. -> [B, Hkv, L, D]
        # 3. Give every query head its key/value head: neighbouring heads share one. -> [B, H, L, D]
        # 4. Score every query with every key of its head, with the scale. -> [B, H, L, L]
        # 5. Apply the mask before the softmax. -> [B, H, L, L]
        # 6. Apply the softmax over the keys, then the dropout. -> [B, H, L, L]
        # 7. Sum the values with these weights. -> [B, H, L, D]
        # 8. Join the heads of each token and project. -> [B, L, M]
        raise NotImplementedError
