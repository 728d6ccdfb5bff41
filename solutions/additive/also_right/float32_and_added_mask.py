"""Convert the scores to float32, and add a mask of 0 and -inf to them.

In half precision, scores and weights take twice the memory, while the much larger hidden tensor
keeps its dtype; float64 inputs lose accuracy. The added mask is another float32 tensor.
"""

import torch
from torch import nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.query = nn.Linear(query_dim, hidden_dim, bias=False)
        self.key = nn.Linear(key_dim, hidden_dim, bias=False)
        self.v = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query, keys, values, mask=None):
        logits = self.v((self.query(query)[:, :, None] + self.key(keys)[:, None]).tanh())[..., 0].float()
        if mask is not None:
            logits = logits + torch.zeros_like(mask, dtype=torch.float32).masked_fill(~mask, float("-inf"))
        weights = logits.softmax(-1).to(values.dtype)
        return torch.einsum("bqk,bkd->bqd", weights, values), weights
