# mistakes: order-k-q-v
"""The three chunks are taken in the order k, q, v instead of q, k, v."""

import torch
import torch.nn.functional as F
from torch import nn


def to_heads(t, n_head):
    B, T, C = t.size()
    return t.view(B, T, n_head, C // n_head).transpose(1, 2)


def from_heads(t):
    B, nh, T, hs = t.size()
    return t.transpose(1, 2).contiguous().view(B, T, nh * hs)


def attend(q, k, v, mask, p, training):
    att = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1) ** 0.5)
    if mask is not None:
        att = att.masked_fill(mask == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    att = F.dropout(att, p=p, training=training)
    return att @ v


class FusedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("n_embd % n_head")
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        self.n_head = num_heads
        self.dropout = dropout

    def forward(self, x, mask=None):
        k, q, v = self.c_attn(x).chunk(3, dim=-1)  # first wrong
        q = to_heads(q, self.n_head)
        k = to_heads(k, self.n_head)
        v = to_heads(v, self.n_head)
        y = attend(q, k, v, mask, self.dropout, self.training)
        return self.c_proj(from_heads(y))
