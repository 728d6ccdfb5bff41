# mistakes: queries-viewed-without-transpose, scale-by-head-dim
"""In as few lines as it takes."""

import torch, torch.nn as nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads: raise ValueError(num_heads)
        self.D, self.drop = d_model // num_heads, nn.Dropout(dropout)
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, n, bias) for n in (d_model, self.D, self.D, d_model))

    def forward(self, x, mask=None):
        q = self.q(x).view(len(x), -1, x.shape[1], self.D)  # first wrong
        s = q @ self.k(x)[:, None].mT / self.D  # also wrong
        w = (s if mask is None else s.where(mask, -torch.inf)).softmax(-1)
        return self.o((self.drop(w) @ self.v(x)[:, None]).transpose(1, 2).flatten(2))
