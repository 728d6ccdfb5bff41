# mistakes: mask-flattened-to-batch-and-keys
"""One operation a line, both sides expanded by hand."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim, key_dim, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.q_proj = nn.Linear(query_dim, hidden_dim, bias=False)
        self.k_proj = nn.Linear(key_dim, hidden_dim, bias=False)
        self.score_proj = nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query, keys, values, mask=None):
        batch = query.shape[0]
        q_len = query.shape[1]
        k_len = keys.shape[1]
        size = (batch, q_len, k_len, self.hidden_dim)

        projected_query = self.q_proj(query)
        projected_query = projected_query.unsqueeze(2)
        projected_query = projected_query.expand(size)

        projected_keys = self.k_proj(keys)
        projected_keys = projected_keys.unsqueeze(1)
        projected_keys = projected_keys.expand(size)

        hidden = torch.add(projected_query, projected_keys)
        hidden = torch.tanh(hidden)
        energy = self.score_proj(hidden)
        energy = energy.view(batch, q_len, k_len)

        if mask is not None:
            # a padding mask comes as [B, 1, Lk]
            mask = torch.squeeze(mask, 1)  # first wrong
            lowest = torch.finfo(energy.dtype).min
            energy = energy.masked_fill(mask.logical_not(), lowest)

        weights = F.softmax(energy, dim=-1)
        context = torch.bmm(weights, values)
        return context, weights
