# mistakes: values-from-key
"""Keys and values out of one layer, as encoders' memories are projected; the weights through log_softmax."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        assert d_model % num_heads == 0, "heads of unequal width"
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.kv_proj = nn.Linear(d_model, 2 * d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None, return_weights=False):
        b, lq, m = query.shape
        d = m // self.num_heads
        q = self.q_proj(query).view(b, lq, self.num_heads, d).transpose(1, 2)
        kv = self.kv_proj(key).view(b, key.shape[1], 2, self.num_heads, d)
        k, v = kv.permute(2, 0, 3, 1, 4).unbind(0)  # first wrong
        logits = torch.matmul(q, k.mT).mul(d**-0.5)
        if mask is not None:
            logits = logits.masked_fill(mask.logical_not(), -1e9)
        weights = torch.exp(logits.log_softmax(-1))
        merged = torch.matmul(self.dropout(weights), v).transpose(1, 2).contiguous().view(b, lq, m)
        result = self.o_proj(merged)
        if not return_weights:
            return result
        return result, weights
