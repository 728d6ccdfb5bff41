# mistakes: causal-mask, no-scale
"""A block of a decoder from habit, whose scores are not scaled."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, dropout):
        super().__init__()
        assert n_embd % n_head == 0
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.attn_dropout = nn.Dropout(dropout)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x, padding_mask):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        allowed = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()  # first wrong
        if padding_mask is not None:
            allowed = allowed & padding_mask[:, None, None, :]
        att = q @ k.transpose(-2, -1)  # also wrong
        att = att.masked_fill(~allowed, torch.finfo(att.dtype).min)
        y = self.attn_dropout(F.softmax(att, dim=-1)) @ v
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class FeedForward(nn.Module):
    def __init__(self, n_embd, hidden, dropout):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, hidden)
        self.c_proj = nn.Linear(hidden, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(F.relu(self.c_fc(x))))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.0):
        super().__init__()
        self.self_attn = CausalSelfAttention(d_model, num_heads, dropout)
        self.norm_1 = nn.LayerNorm(d_model)
        self.mlp = FeedForward(d_model, hidden_dim, dropout)
        self.norm_2 = nn.LayerNorm(d_model)

    def forward(self, x, padding_mask=None):
        x = self.norm_1(x + self.self_attn(x, padding_mask))
        return self.norm_2(x + self.mlp(x))
