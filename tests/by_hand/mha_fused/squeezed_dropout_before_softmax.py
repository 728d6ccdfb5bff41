# mistakes: dropout-before-softmax
"""A pipeline in a handful of lines."""

import torch, torch.nn as nn, torch.nn.functional as F


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        assert not d_model % num_heads
        super().__init__()
        self.h, self.p, self.i, self.o = num_heads, dropout, nn.Linear(d_model, 3 * d_model, bias), nn.Linear(d_model, d_model, bias)

    def forward(self, x, mask=None):
        q, k, v = self.i(x).unflatten(2, (3, self.h, -1)).movedim((2, 3), (0, 2))
        s = (q / q.shape[-1] ** 0.5) @ k.mT
        s = s if mask is None else s.where(mask, -torch.inf)
        w = F.dropout(s, self.p, self.training).softmax(-1)  # first wrong
        return self.o((w @ v).transpose(1, 2).flatten(2))
