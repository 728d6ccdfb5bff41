"""Split and join the heads with a small pattern-based rearrange, and subtract the row maximum.

The patterns are easy to read, but each call parses them again in Python. The subtraction makes an
unnecessary tensor of the size of the scores, because softmax subtracts the maximum itself.
"""

import re
import torch
from torch import nn


def rearrange(x, pattern, **sizes):
    """Split and merge axes as einops does: 'b l (h d) -> b h l d'."""
    left, right = [re.findall(r"\([^)]*\)|\w+", side) for side in pattern.split("->")]
    names = []
    shape = []
    for token, n in zip(left, x.shape):
        if token.startswith("("):
            inner = token[1:-1].split()
            known = 1
            for i in inner:
                known *= sizes.get(i, 1)
            for i in inner:
                names.append(i)
                shape.append(sizes.get(i, n // known))
        else:
            names.append(token)
            shape.append(n)
    x = x.reshape(shape)
    flat = [i for token in right for i in token.strip("()").split()]
    x = x.permute([names.index(i) for i in flat])
    size = dict(zip(flat, x.shape))
    final = []
    for token in right:
        n = 1
        for i in token.strip("()").split():
            n *= size[i]
        final.append(n)
    return x.reshape(final)


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} {num_heads}")
        d = d_model // num_heads
        self.heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d, bias=bias)
        self.v_proj = nn.Linear(d_model, d, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q = rearrange(self.q_proj(x), "b l (h d) -> b h l d", h=self.heads)
        k = rearrange(self.k_proj(x), "b l d -> b d l")[:, None]
        v = self.v_proj(x).unsqueeze(1)
        sim = torch.matmul(q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            sim = sim.masked_fill(~mask, -torch.finfo(sim.dtype).max)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = self.dropout(sim.softmax(dim=-1))
        return self.o_proj(rearrange(attn @ v, "b h l d -> b l (h d)"))
