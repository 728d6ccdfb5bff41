import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """Grouped-query attention: query head h uses key/value head h // (H // Hkv).

    B batch, L length, M d_model, H query heads, Hkv key/value heads, D = M / H head dim.
    Layers: q_proj Linear(M, M), k_proj and v_proj Linear(M, Hkv * D), o_proj Linear(M, M).
    """

    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        # 1. Refuse sizes that cannot work: M by H, then H by Hkv. -> ValueError
        # 2. Keep the head dim D = M / H and both numbers of heads. -> int
        # 3. Make q_proj and o_proj: the queries have H heads. -> Linear(M, M)
        # 4. Make k_proj and v_proj: only Hkv heads. -> Linear(M, Hkv * D)
        # 5. Make the dropout of the attention weights. -> Dropout
        raise NotImplementedError

    def forward(self, x, mask=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M]."""
        # 1. Project x to queries and cut them into heads, heads before positions. -> [B, H, L, D]
        # 2. The same for keys and values. -> [B, Hkv, L, D]
        # 3. Give every query head its key/value head: neighbours share one. -> [B, H, L, D]
        # 4. Score every query with every key of its head, scaled. -> [B, H, L, L]
        # 5. Shut out what the mask forbids, before the softmax. -> [B, H, L, L]
        # 6. Softmax over the keys, then dropout. -> [B, H, L, L]
        # 7. Weight the values. -> [B, H, L, D]
        # 8. Put the heads of a token side by side again and project. -> [B, L, M]
        raise NotImplementedError
