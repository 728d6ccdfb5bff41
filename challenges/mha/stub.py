import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Multi-head attention of one sequence to another (or to itself).

    B batch, Lq query length, Lk key length, M d_model, H heads, D = M / H head dim.
    Layers: q_proj, k_proj, v_proj, o_proj, each Linear(M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        # 1. Refuse an M that H does not divide. -> ValueError
        # 2. Keep the head dim D = M / H and the number of heads. -> int
        # 3. Make q_proj, k_proj, v_proj and o_proj. -> Linear(M, M)
        # 4. Make the dropout of the attention weights. -> Dropout
        raise NotImplementedError

    def forward(self, query, key, value, mask=None, return_weights=False):
        """query [B, Lq, M], key and value [B, Lk, M], mask bool broadcastable to [B, H, Lq, Lk], True = may attend.

        -> out [B, Lq, M], or (out, weights [B, H, Lq, Lk]) if return_weights.
        """
        # 1. Project query and cut it into heads, heads before positions. -> [B, H, Lq, D]
        # 2. The same for key and value, which have a length of their own. -> [B, H, Lk, D]
        # 3. Score every query with every key of its head, scaled. -> [B, H, Lq, Lk]
        # 4. Shut out what the mask forbids, before the softmax. -> [B, H, Lq, Lk]
        # 5. Softmax over the keys. -> [B, H, Lq, Lk]
        # 6. Dropout on the weights. -> [B, H, Lq, Lk]
        # 7. Weight the values. -> [B, H, Lq, D]
        # 8. Put the heads of a token side by side again and project. -> [B, Lq, M]
        # 9. Return it, with return_weights together with the weights of every head. -> [B, Lq, M] or tuple
        raise NotImplementedError
