# mistakes: relu, mask-filled-with-zero
"""The scorer as an MLP whose first layer is cut in two; the mask as a product."""

import torch
from torch import nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.from_query = nn.Linear(query_dim, hidden_dim, bias=False)
        self.from_key = nn.Linear(key_dim, hidden_dim, bias=False)
        self.head = nn.Sequential(nn.Linear(hidden_dim, 1, bias=False), nn.Flatten(2))

    def forward(self, query, keys, values, mask=None):
        first_layer = self.from_query(query)[:, :, None, :] + self.from_key(keys)[:, None, :, :]
        second_layer = first_layer.relu()  # first wrong
        scores = self.head(second_layer)
        if mask is not None:
            scores = scores * mask  # also wrong
        weights = torch.nn.functional.softmax(scores, dim=2)
        out = (weights.unsqueeze(-1) * values.unsqueeze(1)).sum(dim=2)
        return out, weights
