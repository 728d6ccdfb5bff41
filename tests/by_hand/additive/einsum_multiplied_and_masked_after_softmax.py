# mistakes: multiplied, mask-after-softmax
"""Nothing but einsum between the layers, a softmax in a nested function."""

import torch
from torch import einsum, nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.to_q = nn.Linear(query_dim, hidden_dim, bias=False)
        self.to_k = nn.Linear(key_dim, hidden_dim, bias=False)
        self.to_score = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query, keys, values, mask=None):
        def softmax(t):
            t = torch.exp(t - t.max(dim=-1, keepdim=True).values)
            return t / einsum("bij->bi", t)[..., None]

        q = self.to_q(query)
        k = self.to_k(keys)
        both = einsum("bih,bjh->bijh", q, k)  # first wrong
        scores = einsum("bijh,oh->bij", torch.tanh(both), self.to_score.weight)
        weights = softmax(scores)  # also wrong
        if mask is not None:
            weights = weights * mask
        return einsum("bij,bjd->bid", weights, values), weights
