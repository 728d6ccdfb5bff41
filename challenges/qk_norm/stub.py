import torch
from torch import nn


class QKNormAttention(nn.Module):
    """Grouped-query attention whose queries and keys get an RMSNorm over D before the scores.

    B batch, L length, M d_model, H query heads, Hkv key/value heads, D head_dim (None: D = M / H).
    Layers, without biases: q_proj Linear(M, H * D), k_proj and v_proj Linear(M, Hkv * D), o_proj
    Linear(H * D, M). q_norm.weight and k_norm.weight [D], initially ones.
    """

    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        # 1. Without head_dim, refuse M if H does not divide it. -> ValueError
        # 2. Refuse H if Hkv does not divide it. -> ValueError
        # 3. Store the head dim D and the numbers of heads. -> int
        # 4. Make q_proj and o_proj for H heads. -> Linear(M, H * D), Linear(H * D, M)
        # 5. Make k_proj and v_proj for only Hkv heads. -> Linear(M, Hkv * D)
        # 6. Make the norms of one head's queries and keys, with eps. -> q_norm, k_norm
        raise NotImplementedError

    def forward(self, x, mask=None):
        """Return the attention output [B, L, M].

        x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend.
        """
        # 1. Project x to queries, and split them into heads. -> [B, L, H, D]
        # 2. Do the same for keys and values. -> [B, L, Hkv, D]
        # 3. Normalise every query and every key over its D features. -> [B, L, H or Hkv, D]
        # 4. Put the heads before the positions. -> [B, H or Hkv, L, D]
        # 5. Give every query head its key/value head: neighbouring heads share one. -> [B, H, L, D]
        # 6. Score every query with every key of its head, with the scale. -> [B, H, L, L]
        # 7. Apply the mask, then the softmax over the keys. -> [B, H, L, L]
        # 8. Sum the values with these weights. -> [B, H, L, D]
        # 9. Join the heads of each token and project. -> [B, L, M]
        raise NotImplementedError
