"""Causal multi-head attention with a KV cache: old tokens are not projected again.

    K = [K_past; X W_k]    V = [V_past; X W_v]    out = softmax(Q K^T / sqrt(D) + causal) V W_o

Token t needs the keys and values of the tokens up to t, but no old query, so only keys and values
are kept.
Vaswani et al. 2017, "Attention Is All You Need"; Pope et al. 2022, "Efficiently Scaling
Transformer Inference".
"""

import math

import torch
from torch import nn


class CachedMultiHeadAttention(nn.Module):
    """B batch, L new tokens, Lpast tokens in the cache, M d_model, H heads, D = M / H head dim."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        batch, length, d_model = x.shape

        q = self.q_proj(x).view(batch, length, self.num_heads, self.head_dim)
        k = self.k_proj(x).view(batch, length, self.num_heads, self.head_dim)
        v = self.v_proj(x).view(batch, length, self.num_heads, self.head_dim)
        q = q.transpose(1, 2)  # [B, H, L, D]
        k = k.transpose(1, 2)  # [B, H, L, D]
        v = v.transpose(1, 2)  # [B, H, L, D]

        past_length = 0
        if past_kv is not None:
            past_k, past_v = past_kv
            past_length = past_k.shape[2]
            # cat makes new tensors: the caller's cache does not change and may be continued twice
            k = torch.cat([past_k, k], dim=2)  # [B, H, Lpast + L, D]
            v = torch.cat([past_v, v], dim=2)  # [B, H, Lpast + L, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, L, Lpast + L]
        scores = scores / math.sqrt(self.head_dim)
        # row i is position Lpast + i, so its last visible key is on diagonal Lpast, not 0
        everything = torch.ones(length, past_length + length, dtype=torch.bool, device=x.device)
        visible = everything.tril(diagonal=past_length)
        scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, Lpast + L]

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, d_model)  # [B, L, M]
        out = self.o_proj(merged)
        if not use_cache:
            return out
        return out, (k, v)
