"""Write a single head for two dims, and map it over heads and batch with vmap.

The code of a head needs no axes for batch and heads. The added mask and the dropout mask have the
size of the scores and are made and applied in each call, even without a mask and in eval mode.
"""

import math

import torch
from torch import nn


def one_head(q, k, v, bias, keep):
    """q [Lq, D], k, v [Lk, D], bias and keep [Lq, Lk]."""
    weights = torch.softmax(q @ k.T / math.sqrt(q.shape[-1]) + bias, dim=-1)
    return (weights * keep) @ v, weights


all_heads = torch.vmap(torch.vmap(one_head))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model < num_heads or d_model % num_heads:
            raise ValueError(f"d_model = {d_model}, num_heads = {num_heads}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias)
        self.W_k = nn.Linear(d_model, d_model, bias)
        self.W_v = nn.Linear(d_model, d_model, bias)
        self.W_o = nn.Linear(d_model, d_model, bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None, return_weights=False):
        B, Lq, M = query.shape
        H, Lk = self.num_heads, key.shape[1]
        q = self.W_q(query).reshape(B, Lq, H, M // H).swapaxes(1, 2)
        k = self.W_k(key).reshape(B, Lk, H, M // H).swapaxes(1, 2)
        v = self.W_v(value).reshape(B, Lk, H, M // H).swapaxes(1, 2)
        bias = query.new_zeros(B, H, Lq, Lk)
        if mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        keep = self.dropout(torch.ones_like(bias))
        heads, weights = all_heads(q, k, v, bias, keep)
        out = self.W_o(heads.swapaxes(1, 2).reshape(B, Lq, M))
        if return_weights:
            return out, weights
        return out
