import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Multi-head attention of one sequence to another (or to itself).

    B batch, Lq query length, Lk key length, M d_model, H heads, D = M / H head dim.
    Layers: q_proj, k_proj, v_proj, o_proj, each Linear(M, M).
    """

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        raise NotImplementedError

    def forward(self, query, key, value, mask=None, return_weights=False):
        """query [B, Lq, M], key and value [B, Lk, M], mask bool broadcastable to [B, H, Lq, Lk], True = may attend.

        -> out [B, Lq, M], or (out, weights [B, H, Lq, Lk]) if return_weights.
        """
        raise NotImplementedError
