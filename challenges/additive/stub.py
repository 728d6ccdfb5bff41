import torch
from torch import nn


class AdditiveAttention(nn.Module):
    """Additive attention: score(q, k) = score_proj(tanh(q_proj(q) + k_proj(k))), without a scale.

    B batch, Lq queries, Lk keys, Dv width of the values.
    Layers, none with a bias: q_proj Linear(query_dim, hidden_dim), k_proj Linear(key_dim, hidden_dim), score_proj Linear(hidden_dim, 1).
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__()
        raise NotImplementedError

    def forward(self, query, keys, values, mask=None):
        """query [B, Lq, query_dim], keys [B, Lk, key_dim], values [B, Lk, Dv] -> out [B, Lq, Dv], weights [B, Lq, Lk].

        mask: bool [B, Lq, Lk] or [B, 1, Lk], True = may attend.
        """
        raise NotImplementedError
