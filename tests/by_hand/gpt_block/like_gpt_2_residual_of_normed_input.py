# mistakes: residual-of-normed-input
"""The names of GPT-2, a mask in a buffer that grows, and a norm stored in a variable."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, p):
        super().__init__()
        if n_embd % n_head != 0:
            raise ValueError(f"n_embd {n_embd}, n_head {n_head}")
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.n_head, self.p = n_head, p

    def forward(self, x):
        B, T, C = x.size()
        qkv = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in qkv)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        rows = torch.arange(T, device=x.device)
        att = att.masked_fill(rows[None, :] > rows[:, None], float("-inf"))
        att = F.dropout(F.softmax(att, dim=-1), self.p, self.training)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return F.dropout(self.c_proj(y), self.p, self.training)


class MLP(nn.Module):
    def __init__(self, n_embd, p):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, 4 * n_embd)
        self.c_proj = nn.Linear(4 * n_embd, n_embd)
        self.dropout = nn.Dropout(p)

    def forward(self, x):
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = CausalSelfAttention(d_model, num_heads, dropout)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = MLP(d_model, dropout)

    def forward(self, x):
        h = self.ln_1(x)
        x = h + self.attn(h)  # first wrong
        return x + self.mlp(self.ln_2(x))
