# mistakes: softmax-with-one-maximum-for-all
"""The softmax as a function of its own, heads outermost: [H, B, L, D]."""

import math

import torch
from torch import nn


def shares(scores):
    raised = torch.exp(scores - scores.max())  # first wrong
    return raised / torch.sum(raised, dim=-1, keepdim=True)


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if num_heads > d_model or d_model % num_heads != 0:
            raise ValueError(f"{d_model} features and {num_heads} heads")
        if memory_dim is None:
            memory_dim = d_model
        self.num_heads = num_heads
        self.root = math.sqrt(d_model // num_heads)
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(memory_dim, d_model, bias=bias)
        self.W_v = nn.Linear(memory_dim, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)

    def cut(self, t):
        return torch.stack(t.chunk(self.num_heads, dim=2))

    def forward(self, x, memory, memory_mask=None):
        q, k, v = self.cut(self.W_q(x)), self.cut(self.W_k(memory)), self.cut(self.W_v(memory))
        scores = q.matmul(k.mT).div(self.root)
        if memory_mask is not None:
            scores = scores.masked_fill(~memory_mask.unsqueeze(1), -math.inf)
        found = shares(scores).matmul(v)
        return self.W_o(found.permute(1, 2, 0, 3).flatten(2))
