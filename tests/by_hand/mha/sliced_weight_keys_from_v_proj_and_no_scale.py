# mistakes: keys-from-v-proj, no-scale
"""One layer for all three, its weight and bias taken apart at every call; softmax in float32."""

import torch
import torch.nn.functional as F
from torch import nn

QUERY, KEY, VALUE = range(3)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} is no multiple of {num_heads}")
        self.num_heads, self.d_model = num_heads, d_model
        self.in_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def heads_of(self, x, part):
        start = part * self.d_model
        weight = self.in_proj.weight.narrow(0, start, self.d_model)
        bias = None if self.in_proj.bias is None else self.in_proj.bias.narrow(0, start, self.d_model)
        return F.linear(x, weight, bias).unflatten(-1, (self.num_heads, -1)).movedim(2, 1)

    def forward(self, query, key, value, mask=None, return_weights=False):
        q = self.heads_of(query, QUERY)
        k = self.heads_of(key, VALUE)  # first wrong
        v = self.heads_of(value, VALUE)
        att = q.matmul(k.transpose(-1, -2))  # also wrong
        if mask is not None:
            att = att.masked_fill(~mask, float("-inf"))
        att = att.softmax(-1, dtype=torch.promote_types(att.dtype, torch.float32)).type_as(v)
        out = self.drop(att).matmul(v)
        out = self.out_proj(out.movedim(1, 2).flatten(2))
        return (out, att) if return_weights else out
