"""Put batch and heads on one axis, add a bias for the mask, and write the softmax as a module.

The mask is expanded to a float tensor of the size of the scores, and the hand-written softmax makes
more tensors of this size than torch.softmax.
"""

import math

import torch
from torch import nn


class Softmax(nn.Module):
    def forward(self, scores):
        top = scores.amax(dim=-1, keepdim=True)
        e = torch.exp(scores - top)
        return e / e.sum(dim=-1, keepdim=True)


class Core(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.softmax = Softmax()
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, bias):
        scale = 1 / math.sqrt(q.shape[-1])
        scores = torch.bmm(q, k.transpose(1, 2)) * scale
        return torch.bmm(self.dropout(self.softmax(scores + bias)), v)


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model=} {num_heads=}")
        self.h = num_heads
        self.to_qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.to_out = nn.Sequential(nn.Linear(d_model, d_model, bias=bias), nn.Identity())
        self.core = Core(dropout)

    def fold(self, t):
        b, n, m = t.shape
        return t.view(b, n, self.h, m // self.h).transpose(1, 2).reshape(b * self.h, n, m // self.h)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        q, k, v = map(self.fold, torch.tensor_split(self.to_qkv(x), 3, dim=-1))
        bias = x.new_zeros(())
        if mask is not None:
            bias = x.new_zeros(mask.shape).masked_fill_(~mask, -math.inf).expand(b, self.h, n, n).reshape(b * self.h, n, n)
        out = self.core(q, k, v, bias)
        return self.to_out(out.view(b, self.h, n, -1).transpose(1, 2).reshape(b, n, m))
