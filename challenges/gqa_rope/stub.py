import torch
from torch import nn


class LlamaAttention(nn.Module):
    """Grouped-query attention with half-split RoPE on queries and keys, no biases.

    B batch, L length, M d_model, H query heads, Hkv key/value heads, D = M / H head dim, T max_seq_len.
    Layers: q_proj Linear(M, M), k_proj and v_proj Linear(M, Hkv * D), o_proj Linear(M, M), all without bias.
    Query head h uses key/value head h // (H // Hkv).
    """

    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        raise NotImplementedError

    def forward(self, x, mask=None, position_ids=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M].

        Not causal of itself: the mask says. position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1.
        """
        raise NotImplementedError
