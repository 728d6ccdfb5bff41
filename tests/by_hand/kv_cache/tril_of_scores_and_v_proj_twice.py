# mistakes: keys-from-v-proj, masked-with-zero
"""Nested functions that read what they need from outside; the triangle is cut out of the scores themselves."""

import torch
from torch import nn


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} % {num_heads} != 0")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=bias)
        self.W_key = nn.Linear(d_model, d_model, bias=bias)
        self.W_value = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, width = x.shape
        head_width = width // self.num_heads

        def heads_of(layer):
            return torch.stack(layer(x).split(head_width, dim=-1), dim=1)

        def with_past(new, which):
            return new if past_kv is None else torch.cat((past_kv[which], new), dim=2)

        def attend(q, k, v):
            scores = torch.matmul(q, k.transpose(2, 3)).div(head_width**0.5)
            scores = scores.tril(k.shape[2] - n)  # also wrong
            top = scores.amax(-1, keepdim=True)
            e = torch.exp(scores - top)
            return torch.matmul(e / e.sum(-1, keepdim=True), v)

        q = heads_of(self.W_query)
        k = with_past(heads_of(self.W_value), 0)  # first wrong
        v = with_past(heads_of(self.W_value), 1)
        merged = torch.cat(attend(q, k, v).unbind(1), dim=-1)
        out = self.out_proj(merged)
        return (out, (k, v)) if use_cache else out
