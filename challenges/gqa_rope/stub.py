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
        # 1. Refuse sizes that cannot work: M by H, then H by Hkv. -> ValueError
        # 2. Keep the head dim D = M / H and both numbers of heads. -> int
        # 3. Make q_proj and o_proj, without a bias: the queries have H heads. -> Linear(M, M)
        # 4. Make k_proj and v_proj, without a bias: only Hkv heads. -> Linear(M, Hkv * D)
        # 5. The angle of every position and pair, t * base**(-2i/D), in float32 or finer. -> [T, D/2]
        # 6. Keep the cosines and sines: one angle serves features i and i + D/2. -> [T, D]
        raise NotImplementedError

    def forward(self, x, mask=None, position_ids=None):
        """x [B, L, M], mask bool broadcastable to [B, H, L, L], True = may attend -> [B, L, M].

        Not causal of itself: the mask says. position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1.
        """
        # 1. Without position_ids, take 0 .. L-1. -> [1, L]
        # 2. Project x to queries and cut them into heads, heads before positions. -> [B, H, L, D]
        # 3. The same for keys and values. -> [B, Hkv, L, D]
        # 4. Look up the cosines and sines of every token's position, the same for all heads. -> [B, 1, L, D]
        # 5. Turn the pairs (i, i + D/2) of queries and keys, not of values. -> [B, H, L, D], [B, Hkv, L, D]
        # 6. Give every query head its key/value head: neighbours share one. -> [B, H, L, D]
        # 7. Score every query with every key of its head, scaled; mask before the softmax. -> [B, H, L, L]
        # 8. Softmax over the keys, then weight the values. -> [B, H, L, D]
        # 9. Put the heads of a token side by side again and project. -> [B, L, M]
        raise NotImplementedError
