import torch
from torch import nn


class CachedMultiHeadAttention(nn.Module):
    """Causal multi-head attention that can go on from the keys and values of earlier tokens.

    B batch, L new tokens, Lpast tokens in the cache, M d_model, H heads, D = M / H head dim.
    Layers: q_proj, k_proj, v_proj, o_proj, each Linear(M, M).
    """

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        raise NotImplementedError

    def forward(self, x, past_kv=None, use_cache=False):
        """x [B, L, M], past_kv None or (k, v), each [B, H, Lpast, D].

        -> out [B, L, M], or with use_cache (out, (k, v)), k and v each [B, H, Lpast + L, D].
        """
        raise NotImplementedError
