import torch
from torch import nn


class CachedMultiHeadAttention(nn.Module):
    """Causal multi-head attention with a cache of the keys and values of earlier tokens.

    B batch, L new tokens, Lpast tokens in the cache, M d_model, H heads, D = M / H head dim.
    Layers: q_proj, k_proj, v_proj, o_proj, each Linear(M, M).
    """

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        # 1. Refuse M if H does not divide it. -> ValueError
        # 2. Store the head dim D = M / H and the number of heads. -> int
        # 3. Make q_proj, k_proj, v_proj and o_proj. -> Linear(M, M)
        raise NotImplementedError

    def forward(self, x, past_kv=None, use_cache=False):
        """Return out [B, L, M], or with use_cache (out, (k, v)), each [B, H, Lpast + L, D].

        x [B, L, M], past_kv None or (k, v), each [B, H, Lpast, D].
        """
        # 1. Project x, only the new tokens, to queries, keys and values. -> [B, L, M]
        # 2. Split each into heads, heads before positions. -> [B, H, L, D]
        # 3. Put the past, if any, before keys and values, in new tensors. -> [B, H, Lpast + L, D]
        # 4. Score every query with every key of its head, with the scale. -> [B, H, L, Lpast + L]
        # 5. Exclude later tokens before the softmax: row i is position Lpast + i.
        #    -> [B, H, L, Lpast + L]
        # 6. Apply the softmax over the keys. -> [B, H, L, Lpast + L]
        # 7. Sum the values with these weights. -> [B, H, L, D]
        # 8. Join the heads of each token and project. -> [B, L, M]
        # 9. Return the result, and with use_cache also the joined keys and values.
        #    -> [B, L, M] or tuple
        raise NotImplementedError
