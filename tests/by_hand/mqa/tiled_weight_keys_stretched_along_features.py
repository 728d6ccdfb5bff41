# mistakes: keys-stretched-along-features
"""Multi-head attention whose weights are tied: the small weight is copied for every head at each call."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features")
        self.num_heads, self.p = num_heads, dropout
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.kv_proj = nn.Linear(d_model, 2 * (d_model // num_heads), bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def tied(self, parameter):
        """[2 D, ...] -> [H D, ...] for the keys, and the same for the values."""
        if parameter is None:
            return None, None
        one_key, one_value = parameter.chunk(2, dim=0)
        keys = one_key.repeat_interleave(self.num_heads, dim=0)  # first wrong
        values = torch.cat([one_value] * self.num_heads, dim=0)
        return keys, values

    def cut(self, t):
        return t.unflatten(-1, (self.num_heads, -1)).movedim(2, 1)

    def forward(self, x, mask=None):
        k_weight, v_weight = self.tied(self.kv_proj.weight)
        k_bias, v_bias = self.tied(self.kv_proj.bias)
        q = self.cut(self.q_proj(x))
        k = self.cut(F.linear(x, k_weight, k_bias))
        v = self.cut(F.linear(x, v_weight, v_bias))
        logits = torch.matmul(q, k.mT) / q.size(-1) ** 0.5
        if mask is not None:
            logits = torch.where(mask, logits, torch.finfo(logits.dtype).min)
        probs = F.dropout(torch.softmax(logits, dim=3), self.p, self.training)
        return self.o_proj(torch.matmul(probs, v).movedim(1, 2).flatten(2))
