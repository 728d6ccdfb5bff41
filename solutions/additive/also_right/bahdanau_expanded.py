"""Expand both sides before the sum, use einsum for the last layer, and write the softmax by hand.

The expanded tensors are views, so they take no memory. The hand-written softmax makes more tensors
of the size of the scores than torch.softmax, and the product with the mask adds one more.
"""

import torch
import torch.nn as nn


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.W_a = nn.Linear(query_dim, hidden_dim, False)
        self.U_a = nn.Linear(key_dim, hidden_dim, False)
        self.v_a = nn.Linear(hidden_dim, 1, False)

    def forward(self, query, keys, values, mask=None):
        batch, targets, sources = query.size(0), query.size(1), keys.size(1)
        q = self.W_a(query)[:, :, None, :].expand(batch, targets, sources, -1)
        k = self.U_a(keys)[:, None].expand(batch, targets, sources, -1)
        energy = torch.einsum("btsh,h->bts", torch.tanh(q + k), self.v_a.weight[0])
        if mask is not None:
            energy = torch.where(mask, energy, torch.finfo(energy.dtype).min)
        energy = energy - energy.amax(-1, keepdim=True)
        powers = energy.exp()
        if mask is not None:
            powers = powers * mask
        alpha = powers / powers.sum(-1, keepdim=True)
        return alpha @ values, alpha
