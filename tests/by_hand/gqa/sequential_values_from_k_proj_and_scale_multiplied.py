# mistakes: values-from-k-proj, scale-multiplied
"""Layers that end in a reshaping module, keys and values copied by expand, exp of log_softmax."""

import torch
from torch import nn


class Split(nn.Module):
    """[B, L, h * D] -> [B, h, L, D], each head `copies` times in a row."""

    def __init__(self, dim, copies=1):
        super().__init__()
        self.dim, self.copies = dim, copies

    def forward(self, t):
        t = t.unflatten(-1, (-1, 1, self.dim)).expand(-1, -1, -1, self.copies, -1)
        return t.flatten(2, 3).transpose(1, 2)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model: {d_model}, num_heads: {num_heads}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads: {num_heads}, num_kv_heads: {num_kv_heads}")
        d, copies = d_model // num_heads, num_heads // num_kv_heads
        self.factor = d**0.5  # also wrong
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * d, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * d, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.split_q = Split(d)
        self.split_kv = Split(d, copies)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = self.split_q(self.q_proj(x))
        k, v = (self.split_kv(layer(x)) for layer in (self.k_proj, self.k_proj))  # first wrong
        scores = torch.matmul(q * self.factor, k.transpose(-1, -2))
        if mask is not None:
            scores = scores + scores.new_zeros(mask.shape).masked_fill(~mask, float("-inf"))
        weights = scores.log_softmax(dim=-1).exp()
        heads = torch.matmul(self.dropout(weights), v)
        return self.o_proj(torch.cat(torch.unbind(heads, dim=1), dim=-1))
