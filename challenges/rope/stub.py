import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    """Tables of the angles t * base**(-2i/D): position t, pair i < D/2.

    D head_dim (even), T max_seq_len.
    Returns (cos, sin), each [T, D], float32: columns i and i + D/2 belong to the same angle.
    """
    # 1. The frequency of every pair, base**(-2i/D). -> [D/2]
    # 2. Every position times every frequency, in float32 or finer. -> [T, D/2]
    # 3. Every angle twice, in columns i and i + D/2, not in neighbours. -> [T, D]
    # 4. Return the cosines and the sines. -> tuple
    raise NotImplementedError


def apply_rope(q, k, cos, sin, position_ids=None):
    """Turn the pairs (i, i + D/2) of every query and key by the angles of its position.

    q [B, H, L, D], k [B, Hkv, L, D]; cos, sin [T, D], float32, as rope_cos_sin makes them, T >= L.
    position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1.
    Returns (q, k), shapes and dtypes as they came: bfloat16 q and k give bfloat16, though the tables are float32.
    """
    # 1. Without position_ids, take 0 .. L-1. -> [1, L]
    # 2. Take every token's row of both tables, the same for all heads. -> [B, 1, L, D]
    # 3. Turn the pairs (i, i + D/2) of q, in a new tensor. -> [B, H, L, D]
    # 4. The same for k, which may have fewer heads. -> [B, Hkv, L, D]
    # 5. Return both in the dtypes that they came in: the tables may be finer. -> tuple
    raise NotImplementedError
