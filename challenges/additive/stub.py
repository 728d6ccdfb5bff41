import torch
from torch import nn


class AdditiveAttention(nn.Module):
    """Additive attention: score(q, k) = score_proj(tanh(q_proj(q) + k_proj(k))), without a scale.

    B batch, Lq queries, Lk keys, Dv width of the values.
    Layers without bias: q_proj Linear(query_dim, hidden_dim), k_proj Linear(key_dim, hidden_dim),
    score_proj Linear(hidden_dim, 1).
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__()
        # 1. Make q_proj; no layer has a bias. -> Linear(query_dim, hidden_dim)
        # 2. Make k_proj: queries and keys get the same width. -> Linear(key_dim, hidden_dim)
        # 3. Make score_proj: one score for each pair. -> Linear(hidden_dim, 1)
        raise NotImplementedError

    def forward(self, query, keys, values, mask=None):
        """Return (out, weights).

        query [B, Lq, query_dim], keys [B, Lk, key_dim], values [B, Lk, Dv],
        mask bool [B, Lq, Lk] or [B, 1, Lk], True = may attend.
        -> out [B, Lq, Dv], weights [B, Lq, Lk].
        """
        # 1. Project the queries. -> [B, Lq, hidden_dim]
        # 2. Project the keys. -> [B, Lk, hidden_dim]
        # 3. Add every query to every key, without a loop. -> [B, Lq, Lk, hidden_dim]
        # 4. Apply tanh to the sum, not to each part. -> [B, Lq, Lk, hidden_dim]
        # 5. Make one score for each pair, without a scale; keep axes of length 1. -> [B, Lq, Lk]
        # 6. Apply the mask before the softmax. -> [B, Lq, Lk]
        # 7. Apply the softmax over the keys. -> [B, Lq, Lk]
        # 8. Sum the values with these weights; no layer is applied to the values. -> [B, Lq, Dv]
        # 9. Return the result and the weights. -> tuple
        raise NotImplementedError
