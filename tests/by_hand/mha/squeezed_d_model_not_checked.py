# mistakes: d-model-not-checked
"""Squeezed into few lines."""

import torch, torch.nn as nn, torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        self.H, self.D, self.p = num_heads, d_model // num_heads, dropout  # first wrong
        self.q, self.k, self.v, self.o = [nn.Linear(d_model, d_model, bias) for _ in "qkvo"]

    def forward(self, query, key, value, mask=None, return_weights=False):
        q, k, v = (f(x).view(*x.shape[:2], self.H, self.D).transpose(1, 2) for f, x in ((self.q, query), (self.k, key), (self.v, value)))
        s = (q * self.D**-0.5) @ k.mT
        w = (s if mask is None else s.where(mask, -torch.inf)).softmax(-1)
        y = self.o((F.dropout(w, self.p, self.training) @ v).transpose(1, 2).reshape(query.shape))
        return (y, w) if return_weights else y
