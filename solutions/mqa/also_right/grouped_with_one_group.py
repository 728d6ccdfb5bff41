"""Use grouped-query attention with a single group, and write the softmax by hand.

repeat_interleave always copies k and v, to H times their memory, while the reference copies them
only inside matmul if B > 1. The hand-written softmax makes more tensors than torch.softmax.
"""

import torch
from torch import nn


class GroupedAttention(nn.Module):
    def __init__(self, width, heads, groups, p, bias):
        super().__init__()
        if width % heads != 0 or heads % groups != 0:
            raise ValueError(f"{width} / {heads} / {groups}")
        self.heads, self.groups, self.dim, self.p = heads, groups, width // heads, p
        self.proj = nn.ModuleDict(
            {
                "query": nn.Linear(width, width, bias=bias),
                "key": nn.Linear(width, groups * self.dim, bias=bias),
                "value": nn.Linear(width, groups * self.dim, bias=bias),
                "output": nn.Linear(width, width, bias=bias),
            }
        )

    def forward(self, x, mask):
        q, k, v = (self.proj[name](x).unflatten(-1, (-1, self.dim)).transpose(1, 2) for name in ("query", "key", "value"))
        k, v = (t.repeat_interleave(self.heads // self.groups, dim=1) for t in (k, v))
        logits = torch.matmul(q, k.mT) / self.dim**0.5
        if mask is not None:
            logits = logits.masked_fill(torch.logical_not(mask), float("-inf"))
        e = (logits - logits.max(dim=-1, keepdim=True)[0]).exp()
        w = nn.functional.dropout(e / e.sum(-1, keepdim=True), self.p, self.training)
        return self.proj["output"](torch.matmul(w, v).transpose(1, 2).flatten(2))


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        self.attention = GroupedAttention(d_model, num_heads, 1, dropout, bias)

    def forward(self, x, mask=None):
        return self.attention(x, mask)
