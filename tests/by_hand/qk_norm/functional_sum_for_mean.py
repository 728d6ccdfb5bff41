# mistakes: sum-for-mean
"""Unit vectors, as in cosine attention, with the eps of an RMSNorm inside the root."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Gain(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))


def unit(t, gain, eps):
    length = torch.sqrt(torch.sum(t * t, dim=-1, keepdim=True) + eps)  # first wrong
    return t / length * gain.weight


class QKNormAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, eps=1e-6):
        super().__init__()
        assert head_dim or d_model % num_heads == 0, "d_model % num_heads"
        assert num_heads % num_kv_heads == 0, "num_heads % num_kv_heads"
        self.eps, self.dim = eps, head_dim or d_model // num_heads
        self.split = [num_heads, num_kv_heads, num_kv_heads]
        self.qkv = nn.Linear(d_model, sum(self.split) * self.dim, bias=False)
        self.proj = nn.Linear(num_heads * self.dim, d_model, bias=False)
        self.q_norm, self.k_norm = Gain(self.dim), Gain(self.dim)

    def forward(self, x, mask=None):
        B, T, C = x.size()
        q, k, v = self.qkv(x).view(B, T, -1, self.dim).transpose(1, 2).split(self.split, dim=1)
        q = unit(q, self.q_norm, self.eps)
        k = unit(k, self.k_norm, self.eps)
        k, v = (t.repeat_interleave(q.size(1) // t.size(1), dim=1) for t in (k, v))
        att = (q @ k.mT) * (1.0 / math.sqrt(self.dim))
        if mask is not None:
            att = att.masked_fill(mask == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        return self.proj((att @ v).transpose(1, 2).contiguous().view(B, T, -1))
