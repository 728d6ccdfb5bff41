# mistakes: mask-after-softmax
"""Padding is zeroed after the normalisation, so that the weights of a row no longer sum to 1."""

import torch
from torch import nn


def softmax_by_hand(scores, keep=None):
    top = scores.amax(dim=-1, keepdim=True).detach()
    e = torch.exp(scores - top)
    p = e / e.sum(dim=-1, keepdim=True)
    if keep is not None:
        p = p * keep  # first wrong
    return p


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads != 0")
        self.d_model, self.num_heads = d_model, num_heads
        mem = memory_dim if memory_dim is not None else d_model
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(mem, d_model, bias=bias)
        self.W_v = nn.Linear(mem, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory, memory_mask=None):
        B, Lq, M = x.shape
        Lk = memory.shape[1]
        H = self.num_heads
        D = M // H
        q = self.W_q(x).view(B, Lq, H, D).transpose(1, 2)
        k = self.W_k(memory).view(B, Lk, H, D).transpose(1, 2)
        v = self.W_v(memory).view(B, Lk, H, D).transpose(1, 2)
        s = (q @ k.transpose(2, 3)) / D**0.5
        keep = None if memory_mask is None else memory_mask.view(B, 1, 1, Lk)
        w = softmax_by_hand(s, keep)
        o = (w @ v).transpose(1, 2).reshape(B, Lq, M)
        return self.W_o(o)
