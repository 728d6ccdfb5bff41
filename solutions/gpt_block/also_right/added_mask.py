"""Add a mask of 0 and -inf to the scores, scale the queries, and compute the softmax in float32.

In each head, the queries have D numbers per token and the scores have L, so scaling the queries
touches fewer numbers if L > D. For bfloat16 inputs, the float32 softmax keeps more digits and takes
twice the memory.
"""

from math import sqrt

import torch
from torch import nn
from torch.nn.functional import dropout, gelu


class Heads(nn.Module):
    def __init__(self, width, count, p):
        super().__init__()
        if width % count != 0:
            raise ValueError(f"width {width} cannot be split into {count} heads")
        self.count, self.p = count, p
        self.qkv = nn.Linear(width, 3 * width)
        self.to_out = nn.Sequential(nn.Linear(width, width), nn.Dropout(p))

    def forward(self, x):
        b, n, m = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.count, m // self.count).permute(2, 0, 3, 1, 4)
        bias = torch.full((n, n), float("-inf"), device=x.device, dtype=x.dtype).triu(diagonal=1)
        s = (q / sqrt(m // self.count)) @ k.mT + bias
        w = s.softmax(dim=-1, dtype=torch.promote_types(s.dtype, torch.float32)).to(v.dtype)
        w = dropout(w, self.p, self.training)
        return self.to_out((w @ v).permute(0, 2, 1, 3).reshape(b, n, m))


class Expand(nn.Module):
    def __init__(self, width, p):
        super().__init__()
        self.fc = nn.Linear(width, 4 * width)
        self.proj = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return self.drop(self.proj(gelu(self.fc(x))))


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.ln_2 = nn.LayerNorm(d_model)
        self.attn = Heads(d_model, num_heads, dropout)
        self.mlp = Expand(d_model, dropout)

    def forward(self, x):
        y = x + self.attn(self.ln_1(x))
        return torch.add(y, self.mlp(self.ln_2(y)))
