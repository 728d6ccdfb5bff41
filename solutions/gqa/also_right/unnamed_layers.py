"""Give the layers names that say nothing. The grader tries them to find out which is which.

The computation is the same as in the reference, so it costs the same.
"""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} is not a multiple of {num_heads}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} is not a multiple of {num_kv_heads}")
        super().__init__()
        self.H, self.G, self.D = num_heads, num_kv_heads, d_model // num_heads
        kv = self.G * self.D
        # deliberately not in the order q, k, v, o
        self.layers = nn.ModuleList(nn.Linear(d_model, size, bias=bias) for size in (d_model, kv, kv, d_model))
        self.drop = nn.Dropout(p=dropout)

    def forward(self, x, mask=None):
        last, values, keys, first = self.layers
        split = lambda t: t.unflatten(-1, (-1, self.D)).transpose(-3, -2)  # noqa: E731
        q, k, v = split(first(x)), split(keys(x)), split(values(x))
        k, v = (torch.repeat_interleave(t, self.H // self.G, dim=-3) for t in (k, v))
        logits = torch.einsum("...qd,...kd->...qk", q, k).div(self.D**0.5)
        if mask is not None:
            logits = logits + torch.zeros_like(logits).masked_fill(~mask, torch.finfo(logits.dtype).min)
        w = self.drop(torch.exp(torch.log_softmax(logits, dim=-1)))
        return last((w @ v).transpose(-3, -2).flatten(-2))
