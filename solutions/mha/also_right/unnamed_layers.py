"""Keep the layers in a list, stack the heads in front, and use log_softmax with an added mask.

The stack copies q, k and v. The added mask, log_softmax and exp make more tensors of the size of
the scores than masked_fill and torch.softmax.
"""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} features do not make {num_heads} heads")
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d_model, d_model, bias=bias) for _ in range(4)])
        self.drop = nn.Dropout(p=dropout)
        self.heads = num_heads
        self.register_buffer("root", torch.tensor(float(d_model // num_heads)).sqrt(), persistent=False)

    def forward(self, query, key, value, mask=None, return_weights=False):
        *inner, last = self.layers
        # [H, B, L, D]
        q, k, v = (torch.stack(layer(x).chunk(self.heads, dim=-1)) for layer, x in zip(inner, (query, key, value)))
        logits = q @ k.transpose(2, 3) / self.root
        logits = logits.transpose(0, 1)
        if mask is not None:
            logits = logits + torch.zeros_like(logits).masked_fill(~mask, torch.finfo(logits.dtype).min)
        weights = self.drop(logits.log_softmax(dim=-1).exp())
        mixed = weights @ v.transpose(0, 1)
        out = last(torch.cat(mixed.unbind(dim=1), dim=-1))
        if not return_weights:
            return out
        return out, weights
