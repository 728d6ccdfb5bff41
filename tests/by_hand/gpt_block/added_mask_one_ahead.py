# mistakes: causal-mask-sees-one-ahead
"""A mask of 0 and -inf is added to the scores, in a list of functions for the two branches."""

import torch
from torch import nn


def future_mask(scores):
    size = scores.shape[-1]
    hidden = torch.full((size, size), float("-inf"), dtype=scores.dtype, device=scores.device)
    return torch.triu(hidden, diagonal=2)  # first wrong


class Attn(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        if d % h:
            raise ValueError(f"d_model {d} and num_heads {h}")
        self.h = h
        self.qkv_proj = nn.Linear(d, 3 * d)
        self.o_proj = nn.Linear(d, d)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        b, n, d = x.shape
        packed = self.qkv_proj(x).reshape(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        q, k, v = packed.unbind(0)
        scores = torch.matmul(q * (d // self.h) ** -0.5, k.mT)
        scores = scores + future_mask(scores)
        out = torch.matmul(self.drop(torch.softmax(scores, -1)), v)
        return self.o_proj(out.permute(0, 2, 1, 3).reshape(b, n, d))


class Wide(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc, self.proj = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.proj(nn.functional.gelu(self.fc(x)))


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn, self.mlp = Attn(d_model, num_heads, dropout), Wide(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        for norm, branch in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            x = x + self.drop(branch(norm(x)))
        return x
