# mistakes: scaled-by-hidden-dim
"""As short as it gets."""

import torch
from torch import nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.q_proj, self.k_proj, self.score_proj = (nn.Linear(*io, bias=False) for io in ((query_dim, hidden_dim), (key_dim, hidden_dim), (hidden_dim, 1)))

    def forward(self, query, keys, values, mask=None):
        q, k = self.q_proj(query), self.k_proj(keys)
        s = (q[:, :, None] + k[:, None]).tanh() @ self.score_proj.weight[0] / q.size(-1) ** 0.5  # first wrong
        w = (s if mask is None else s.masked_fill(~mask, -torch.inf)).softmax(-1)
        return w @ values, w
