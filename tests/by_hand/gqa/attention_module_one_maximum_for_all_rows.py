# mistakes: one-maximum-for-all-rows
"""A softmax and an attention of its own, each a small module; repeat_interleave before the heads go to the front."""

import torch
from torch import nn


class Softmax(nn.Module):
    def forward(self, t):
        t = t - t.detach().max()  # first wrong
        t = t.exp()
        return t / t.sum(dim=-1, keepdim=True)


class Attend(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.softmax = Softmax()
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, bias):
        logits = torch.einsum("...qd,...kd->...qk", q, k) * q.size(-1) ** -0.5
        return self.dropout(self.softmax(logits + bias)) @ v


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model} and num_heads={num_heads} do not go together")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads={num_heads} and num_kv_heads={num_kv_heads} do not go together")
        self.head_dim = d_model // num_heads
        self.copies = num_heads // num_kv_heads
        kv_dim = num_kv_heads * self.head_dim
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_k = nn.Linear(d_model, kv_dim, bias=bias)
        self.to_v = nn.Linear(d_model, kv_dim, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)
        self.attend = Attend(dropout)

    def heads(self, t, copies=1):
        t = t.unflatten(-1, (-1, self.head_dim))
        return t.repeat_interleave(copies, dim=2).movedim(2, 1)

    def forward(self, x, mask=None):
        bias = torch.zeros((), dtype=x.dtype)
        if mask is not None:
            bias = torch.zeros(mask.shape, dtype=x.dtype).masked_fill(mask.logical_not(), float("-inf"))
        q = self.heads(self.to_q(x))
        k = self.heads(self.to_k(x), self.copies)
        v = self.heads(self.to_v(x), self.copies)
        out = self.attend(q, k, v, bias)
        return self.to_out(out.movedim(1, 2).flatten(2))
