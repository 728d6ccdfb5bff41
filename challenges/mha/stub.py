import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Multi-head attention of one sequence to another (or to itself).

    B batch, Lq query length, Lk key length, M d_model, H heads, D = M / H head dim.
    Layers: q_proj, k_proj, v_proj, o_proj, each Linear(M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        # 1. Refuse M if H does not divide it. -> ValueError
        # 2. Store the head dim D = M / H and the number of heads. -> int
        # 3. Make q_proj, k_proj, v_proj and o_proj. -> Linear(M, M)
        # 4. Make the dropout of the attention weights. -> Dropout
        raise NotImplementedError

    def forward(self, query, key, value, mask=None, return_weights=False):
        """Return out [B, Lq, M], or (out, weights [B, H, Lq, Lk]) if return_weights.

        query [B, Lq, M], key and value [B, Lk, M],
        mask bool broadcastable to [B, H, Lq, Lk], True = may attend.
        """
        # 1. Project query. Split it into heads, heads before positions. -> [B, H, Lq, D]
        # 2. Do the same for key and value, which have another length. -> [B, H, Lk, D]
        # 3. Score every query with every key of its head, with the scale. -> [B, H, Lq, Lk]
        # 4. Apply the mask before the softmax. -> [B, H, Lq, Lk]
        # 5. Apply the softmax over the keys. -> [B, H, Lq, Lk]
        # 6. Apply the dropout to the weights. -> [B, H, Lq, Lk]
        # 7. Sum the values with these weights. -> [B, H, Lq, D]
        # 8. Join the heads of each token and project. -> [B, Lq, M]
        # 9. Return the result, and with return_weights also the weights of every head.
        #    -> [B, Lq, M] or tuple
        raise NotImplementedError
