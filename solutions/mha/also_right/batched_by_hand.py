"""Join batch and heads for bmm, add a mask of 0 and -inf, and write softmax and dropout by hand.

The added mask has the size of the scores, even if there is no mask. The softmax by hand makes more
tensors of that size than torch.softmax.
"""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0, bias=True):
        super().__init__()
        assert d_model % num_heads == 0, f"cannot cut {d_model} features into {num_heads} heads"
        self.num_heads = num_heads
        self.layers = nn.ModuleDict({name: nn.Linear(d_model, d_model, bias) for name in ("query", "key", "value")})
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model, bias), nn.Identity())
        self.dropout = dropout

    def split(self, x):
        b, n, m = x.shape
        x = x.reshape(b, n, self.num_heads, m // self.num_heads)
        return x.permute(0, 2, 1, 3).reshape(b * self.num_heads, n, m // self.num_heads)

    def forward(self, query, key, value, mask=None, return_weights=False):
        b, lq, lk = len(query), query.size(1), key.size(1)
        q, k, v = (self.split(self.layers[name](x)) for name, x in (("query", query), ("key", key), ("value", value)))
        bias = q.new_zeros(b, self.num_heads, lq, lk)
        if mask is not None:
            bias = bias.masked_fill(mask.logical_not(), -math.inf)
        s = torch.baddbmm(bias.flatten(0, 1), q, k.mT, alpha=1 / math.sqrt(q.size(-1)))
        e = (s - s.amax(dim=-1, keepdim=True).detach()).exp()
        w = e / e.sum(dim=-1, keepdim=True)
        kept = w
        if self.training and self.dropout > 0:
            kept = w * torch.empty_like(w).bernoulli_(1 - self.dropout) / (1 - self.dropout)
        o = torch.bmm(kept, v).unflatten(0, (b, self.num_heads)).transpose(1, 2).flatten(2)
        o = self.to_out(o)
        if return_weights:
            return o, w.view(b, self.num_heads, lq, lk)
        return o
