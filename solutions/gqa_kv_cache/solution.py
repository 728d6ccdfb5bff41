"""Causal grouped-query attention with a KV cache: H query heads share Hkv cached key/value heads.

    K = [K_past; X W_k]    V = [V_past; X W_v]
    out_h = softmax(q_h K_g^T / sqrt(D) + causal) V_g    with g = h // (H / Hkv)

The heads are joined with the past first and repeated afterwards, so the cache stays H / Hkv times
smaller than that of multi-head attention.
Ainslie et al. 2023, "GQA: Training Generalized Multi-Query Transformer Models"; Shazeer 2019,
"Fast Transformer Decoding".
"""

import math

import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    """B batch, L new tokens, Lpast tokens in the cache, M d_model, H query heads, Hkv key/value
    heads, D = M / H head dim.
    """

    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(
                f"num_heads {num_heads} is not divisible by num_kv_heads {num_kv_heads}"
            )
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        batch, length, d_model = x.shape

        q = self.q_proj(x).view(batch, length, self.num_heads, self.head_dim)
        k = self.k_proj(x).view(batch, length, self.num_kv_heads, self.head_dim)
        v = self.v_proj(x).view(batch, length, self.num_kv_heads, self.head_dim)
        q = q.transpose(1, 2)  # [B, H, L, D]
        k = k.transpose(1, 2)  # [B, Hkv, L, D]
        v = v.transpose(1, 2)  # [B, Hkv, L, D]

        past_length = 0
        if past_kv is not None:
            past_k, past_v = past_kv
            past_length = past_k.shape[2]
            # cat makes new tensors: the caller's cache does not change and may be continued twice
            k = torch.cat([past_k, k], dim=2)  # [B, Hkv, Lpast + L, D]
            v = torch.cat([past_v, v], dim=2)  # [B, Hkv, Lpast + L, D]
        cache = (k, v)

        # new names: the cached tensors have Hkv heads, the repeated ones exist only in this call
        group_size = self.num_heads // self.num_kv_heads
        keys = k.repeat_interleave(group_size, dim=1)  # [B, H, Lpast + L, D]
        values = v.repeat_interleave(group_size, dim=1)  # [B, H, Lpast + L, D]

        scores = q @ keys.transpose(-2, -1)  # [B, H, L, Lpast + L]
        scores = scores / math.sqrt(self.head_dim)
        # row i is position Lpast + i, so its last visible key is on diagonal Lpast, not 0
        everything = torch.ones(length, past_length + length, dtype=torch.bool, device=x.device)
        visible = everything.tril(diagonal=past_length)
        scores = scores.masked_fill(~visible, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, Lpast + L]

        heads = weights @ values  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, d_model)  # [B, L, M]
        out = self.o_proj(merged)
        if not use_cache:
            return out
        return out, cache
