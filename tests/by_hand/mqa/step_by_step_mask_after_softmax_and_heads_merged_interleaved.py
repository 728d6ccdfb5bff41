# mistakes: mask-after-softmax, heads-merged-interleaved
"""Short lines, the softmax in its parts, layers in a dictionary."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads must be 0")
        d_head = d_model // num_heads
        widths = {"query": d_model, "key": d_head, "value": d_head, "output": d_model}
        self.layers = nn.ModuleDict({name: nn.Linear(d_model, width, bias=bias) for name, width in widths.items()})
        self.num_heads = num_heads
        self.scale = d_head**-0.5
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        query = self.layers["query"](x)
        query = query.unflatten(-1, (self.num_heads, -1))
        query = query.transpose(1, 2)
        key = self.layers["key"](x)
        key = key.unsqueeze(1)
        value = self.layers["value"](x)
        value = value.unsqueeze(1)
        score = query.matmul(key.transpose(-1, -2))
        score = score.mul(self.scale)
        top = score.max(dim=-1, keepdim=True).values  # first wrong
        power = torch.exp(score - top)
        total = power.sum(dim=-1, keepdim=True)
        weight = power / total
        if mask is not None:
            weight = weight.masked_fill(~mask, 0.0)
        weight = self.dropout(weight)
        head = weight.matmul(value)
        token = head.movedim(1, -1)  # also wrong
        token = token.flatten(2)
        return self.layers["output"](token)
