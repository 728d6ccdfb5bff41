"""Write the attention of a single query, and map it over queries and batch with vmap.

The code of a single query needs no axes for batch and queries, and the hidden tensor is as large as
in the reference. Every call pays for the nested vmap.
"""

import torch
from torch import nn
from torch.func import vmap


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.q_proj = nn.Linear(query_dim, hidden_dim, bias=False)
        self.k_proj = nn.Linear(key_dim, hidden_dim, bias=False)
        self.score_proj = nn.Linear(hidden_dim, 1, bias=False)

    def one_query(self, q, k, values, open_):
        """q [hidden], k [Lk, hidden], values [Lk, Dv], open_ bool [Lk]."""
        scores = torch.mv(torch.tanh(q + k), self.score_proj.weight[0])
        weights = torch.softmax(torch.where(open_, scores, -torch.inf), dim=0)
        return weights @ values, weights

    def forward(self, query, keys, values, mask=None):
        batch, q_len, k_len = query.shape[0], query.shape[1], keys.shape[1]
        open_ = torch.ones(1, 1, 1, dtype=torch.bool, device=query.device) if mask is None else mask
        open_ = open_.expand(batch, q_len, k_len)
        one_sequence = vmap(self.one_query, in_dims=(0, None, None, 0))
        return vmap(one_sequence)(self.q_proj(query), self.k_proj(keys), values, open_)
