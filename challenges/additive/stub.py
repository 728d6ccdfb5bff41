import torch
from torch import nn


class AdditiveAttention(nn.Module):
    """Additive attention: score(q, k) = score_proj(tanh(q_proj(q) + k_proj(k))), without a scale.

    B batch, Lq queries, Lk keys, Dv width of the values.
    Layers, none with a bias: q_proj Linear(query_dim, hidden_dim), k_proj Linear(key_dim, hidden_dim), score_proj Linear(hidden_dim, 1).
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__()
        # 1. Make q_proj, like the others without a bias. -> Linear(query_dim, hidden_dim)
        # 2. Make k_proj, so that queries and keys meet at one width. -> Linear(key_dim, hidden_dim)
        # 3. Make score_proj: one number for each pair. -> Linear(hidden_dim, 1)
        raise NotImplementedError

    def forward(self, query, keys, values, mask=None):
        """query [B, Lq, query_dim], keys [B, Lk, key_dim], values [B, Lk, Dv] -> out [B, Lq, Dv], weights [B, Lq, Lk].

        mask: bool [B, Lq, Lk] or [B, 1, Lk], True = may attend.
        """
        # 1. Project the queries. -> [B, Lq, hidden_dim]
        # 2. Project the keys. -> [B, Lk, hidden_dim]
        # 3. Add every query to every key, without a loop. -> [B, Lq, Lk, hidden_dim]
        # 4. tanh of the sum, not of each side alone. -> [B, Lq, Lk, hidden_dim]
        # 5. Make each pair one number, unscaled; B, Lq or Lk may be 1 and must stay. -> [B, Lq, Lk]
        # 6. Shut out what the mask forbids, before the softmax. -> [B, Lq, Lk]
        # 7. Softmax over the keys. -> [B, Lq, Lk]
        # 8. Weight the values, which no layer has touched. -> [B, Lq, Dv]
        # 9. Return the result and the weights, in this order. -> tuple
        raise NotImplementedError
