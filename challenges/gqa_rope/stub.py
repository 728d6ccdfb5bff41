import torch
from torch import nn


class LlamaAttention(nn.Module):
    """Grouped-query attention with half-split RoPE on queries and keys, no biases.

    B batch, L length, M d_model, H query heads, Hkv key/value heads, D = M / H head dim,
    T max_seq_len.
    Layers without bias: q_proj Linear(M, M), k_proj and v_proj Linear(M, Hkv * D),
    o_proj Linear(M, M).
    Query head h uses key/value head h // (H // Hkv).
    """

    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        # 1. Refuse M if H does not divide it, and H if Hkv does not divide it. -> ValueError
        # 2. Store the head dim D = M / H and the numbers of heads. -> int
        # 3. Make q_proj and o_proj for H heads, without a bias. -> Linear(M, M)
        # 4. Make k_proj and v_proj for only Hkv heads, without a bias. -> Linear(M, Hkv * D)
        # 5. Compute the angles t * base**(-2i/D) in float32 or float64. -> [T, D/2]
        # 6. Store the cosines and sines: features i and i + D/2 have the same angle. -> [T, D]
        raise NotImplementedError

    def forward(self, x, mask=None, position_ids=None):
        """Return the attention output [B, L, M].

        x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend.
        Attention is causal only if the mask is.
        position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1.
        """
        # 1. If there are no position_ids, use 0 .. L-1. -> [1, L]
        # 2. Project x to queries. Split them into heads, heads before positions. -> [B, H, L, D]
        # 3. Do the same for keys and values. -> [B, Hkv, L, D]
        # 4. Look up the cosines and sines of every position, for all heads. -> [B, 1, L, D]
        # 5. Rotate the pairs (i, i + D/2) of queries and keys, not of values.
        #    -> [B, H, L, D], [B, Hkv, L, D]
        # 6. Give every query head its key/value head: neighbouring heads share one. -> [B, H, L, D]
        # 7. Score every query with every key of its head, with scale and mask. -> [B, H, L, L]
        # 8. Apply the softmax over the keys, then sum the weighted values. -> [B, H, L, D]
        # 9. Join the heads of each token and project. -> [B, L, M]
        raise NotImplementedError
