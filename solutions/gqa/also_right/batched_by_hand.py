"""Put batch and heads on one axis, add a bias for the mask, and write the softmax by hand.

index_select copies the keys and values, and the hand-written softmax makes more tensors of the size
of the scores than torch.softmax.
"""

import math

import torch
from torch import nn


class Projections(nn.Module):
    def __init__(self, width, kv_width, bias):
        super().__init__()
        self.to_q = nn.Linear(width, width, bias)
        self.to_kv = nn.Linear(width, 2 * kv_width, bias)

    def forward(self, x):
        return (self.to_q(x), *self.to_kv(x).chunk(2, dim=-1))


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be a multiple of num_heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError("num_heads must be a multiple of num_kv_heads")
        self.heads, self.kv_heads, self.dim = num_heads, num_kv_heads, d_model // num_heads
        self.projections = Projections(d_model, num_kv_heads * self.dim, bias)
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model, bias), nn.Identity())
        self.register_buffer("group", torch.arange(num_heads) // (num_heads // num_kv_heads))
        self.dropout = dropout

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q, k, v = self.projections(x)
        q = q.unflatten(-1, (self.heads, self.dim)).permute(0, 2, 1, 3).flatten(0, 1)
        k = k.unflatten(-1, (self.kv_heads, self.dim)).index_select(2, self.group).permute(0, 2, 1, 3).flatten(0, 1)
        v = v.unflatten(-1, (self.kv_heads, self.dim)).index_select(2, self.group).permute(0, 2, 1, 3).flatten(0, 1)
        bias = x.new_zeros(b * self.heads, n, n)
        if mask is not None:
            open_ = torch.broadcast_to(mask, (b, self.heads, n, n)).flatten(0, 1)
            bias = bias.masked_fill(torch.logical_not(open_), -math.inf)
        s = torch.baddbmm(bias, q, k.transpose(1, 2), beta=1.0, alpha=1 / math.sqrt(self.dim))
        s = s - s.max(dim=-1, keepdim=True).values.detach()
        e = torch.exp(s)
        w = e / e.sum(-1, keepdim=True)
        if self.training and self.dropout > 0:
            w = w * (torch.rand_like(w) >= self.dropout) / (1 - self.dropout)
        o = torch.bmm(w, v).unflatten(0, (b, self.heads)).permute(0, 2, 1, 3).flatten(2)
        return self.to_out(o)
