# mistakes: only-one-head-trains-the-keys
"""A copy of key and value for every head, stacked; an inner function with the softmax."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if num_heads > d_model or d_model % num_heads != 0:
            raise ValueError(f"no {num_heads} heads in {d_model} features")
        self.n_heads = num_heads
        self.d_head = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, self.d_head, bias=bias)
        self.W_v = nn.Linear(d_model, self.d_head, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        def attention_of(energy):
            if mask is not None:
                energy = energy.masked_fill(torch.logical_not(mask), torch.finfo(energy.dtype).min)
            return self.attn_dropout(energy.softmax(dim=-1))

        queries = torch.stack(self.W_q(x).split(self.d_head, dim=2), dim=1)
        key = self.W_k(x)
        value = self.W_v(x)
        keys = torch.stack([key] + [key.detach()] * (self.n_heads - 1), dim=1)  # first wrong
        values = torch.stack([value] * self.n_heads, dim=1)
        energy = torch.einsum("bhid,bhjd->bhij", queries, keys).div(self.d_head**0.5)
        context = torch.einsum("bhij,bhjd->bihd", attention_of(energy), values)
        return self.W_o(context.reshape(x.shape))
