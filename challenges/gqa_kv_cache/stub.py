import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    """Causal grouped-query attention that can go on from the keys and values of earlier tokens.

    B batch, L new tokens, Lpast tokens in the cache, M d_model, H query heads, Hkv key/value heads, D = M / H head dim.
    Layers: q_proj Linear(M, M), k_proj and v_proj Linear(M, Hkv * D), o_proj Linear(M, M).
    Query head h uses key/value head h // (H // Hkv).
    """

    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        raise NotImplementedError

    def forward(self, x, past_kv=None, use_cache=False):
        """x [B, L, M], past_kv None or (k, v), each [B, Hkv, Lpast, D].

        -> out [B, L, M], or with use_cache (out, (k, v)), k and v each [B, Hkv, Lpast + L, D].
        """
        raise NotImplementedError
