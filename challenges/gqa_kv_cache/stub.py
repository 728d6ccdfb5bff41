import torch
from torch import nn


class CachedGroupedQueryAttention(nn.Module):
    """Causal grouped-query attention with a cache of the keys and values of earlier tokens.

    B batch, L new tokens, Lpast tokens in the cache, M d_model, H query heads, Hkv key/value
    heads, D = M / H head dim.
    Layers: q_proj Linear(M, M), k_proj and v_proj Linear(M, Hkv * D), o_proj Linear(M, M).
    Query head h uses key/value head h // (H // Hkv).
    """

    def __init__(self, d_model, num_heads, num_kv_heads, bias=False):
        super().__init__()
        # 1. Refuse M if H does not divide it, and H if Hkv does not divide it. -> ValueError
        # 2. Store the head dim D = M / H and the numbers of heads. -> int
        # 3. Make q_proj and o_proj for H heads. -> Linear(M, M)
        # 4. Make k_proj and v_proj for only Hkv heads. -> Linear(M, Hkv * D)
        raise NotImplementedError

    def forward(self, x, past_kv=None, use_cache=False):
        """Return out [B, L, M], or with use_cache (out, (k, v)), each [B, Hkv, Lpast + L, D].

        x [B, L, M], past_kv None or (k, v), each [B, Hkv, Lpast, D].
        """
        # 1. Project x to queries. Split them into heads, heads before positions. -> [B, H, L, D]
        # 2. Do the same for the keys and values of the new tokens. -> [B, Hkv, L, D]
        # 3. Put the past, if any, before them, in new tensors: this is the cache.
        #    -> [B, Hkv, Lpast + L, D]
        # 4. Only now give every query head its key/value head: neighbouring heads share one.
        #    -> [B, H, Lpast + L, D]
        # 5. Score every query with every key of its head, with the scale. -> [B, H, L, Lpast + L]
        # 6. Exclude later tokens before the softmax: row i is position Lpast + i.
        #    -> [B, H, L, Lpast + L]
        # 7. Apply the softmax over the keys, then sum the weighted values. -> [B, H, L, D]
        # 8. Join the heads of each token and project. -> [B, L, M]
        # 9. Return the result, and with use_cache also the cache. -> [B, L, M] or tuple
        raise NotImplementedError
