# mistakes: heads-interleaved, residual-added
"""An inner function for the attention, and the layer written as it stands in a block."""

import torch
from torch import nn


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("sizes do not fit")
        self.d_k = d_model // num_heads
        self.project = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.combine = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        def attend(queries, keys, values):
            logits = torch.matmul(queries, keys.transpose(-1, -2))
            if mask is not None:
                logits = logits.masked_fill(torch.logical_not(mask), float("-inf"))
            shares = torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))
            return torch.matmul(self.dropout(shares), values)

        residual = x
        x = self.project(x)
        x = x.unflatten(-1, (3, self.d_k, -1))  # first wrong
        queries, keys, values = x.permute(2, 0, 4, 1, 3)
        queries = queries / self.d_k**0.5
        x = attend(queries, keys, values)
        x = x.movedim(1, 2).flatten(-2)
        x = self.combine(x)
        return x + residual  # also wrong
