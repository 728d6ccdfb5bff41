# mistakes: keys-viewed-without-transpose
"""Every step on a line of its own, batch and heads in one axis for the two products."""

import math

import torch
from torch import nn


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"cannot divide {d_model} by {num_heads}")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        bsz = x.size(0)
        new = x.size(1)

        queries = self.W_q(x)
        queries = queries.view(bsz, new, self.num_heads, self.d_head)
        queries = queries.permute(0, 2, 1, 3)
        keys = self.W_k(x)
        keys = keys.view(bsz, self.num_heads, new, self.d_head)  # first wrong
        values = self.W_v(x)
        values = values.view(bsz, new, self.num_heads, self.d_head)
        values = values.permute(0, 2, 1, 3)

        old = 0
        if past_kv is not None:
            old_keys, old_values = past_kv
            old = old_keys.size(2)
            keys = torch.cat([old_keys, keys], dim=2)
            values = torch.cat([old_values, values], dim=2)
        total = old + new

        flat = bsz * self.num_heads
        q = queries.reshape(flat, new, self.d_head)
        k = keys.reshape(flat, total, self.d_head)
        v = values.reshape(flat, total, self.d_head)
        scores = torch.bmm(q, k.transpose(1, 2))
        scores = scores / math.sqrt(self.d_head)
        hidden = torch.triu(torch.ones(new, total), diagonal=old + 1)
        scores = scores.masked_fill(hidden.bool().to(x.device), float("-inf"))
        weights = nn.functional.softmax(scores, dim=2)
        out = torch.bmm(weights, v)

        out = out.view(bsz, self.num_heads, new, self.d_head)
        out = out.permute(0, 2, 1, 3)
        out = out.reshape(bsz, new, self.d_model)
        out = self.W_o(out)
        return (out, (keys, values)) if use_cache else out
