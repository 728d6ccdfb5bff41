import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    """Make tables of the angles t * base**(-2i/D) for position t and pair i < D/2.

    D head_dim (even), T max_seq_len.
    Returns (cos, sin), each [T, D], float32: columns i and i + D/2 have the same angle.
    """
    # 1. Compute the frequency of every pair, base**(-2i/D). -> [D/2]
    # 2. Multiply every position with every frequency, in float32 or float64. -> [T, D/2]
    # 3. Repeat every angle in columns i and i + D/2, not in neighbouring columns. -> [T, D]
    # 4. Return the cosines and the sines. -> tuple
    raise NotImplementedError


def apply_rope(q, k, cos, sin, position_ids=None):
    """Rotate the pairs (i, i + D/2) of every query and key by the angles of its position.

    q [B, H, L, D], k [B, Hkv, L, D]; cos, sin [T, D], float32, from rope_cos_sin, T >= L.
    position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1.
    Returns (q, k) with the same shapes and dtypes, although the tables are float32.
    """
    # 1. If there are no position_ids, use 0 .. L-1. -> [1, L]
    # 2. Take every token's row of both tables, for all heads. -> [B, 1, L, D]
    # 3. Rotate the pairs (i, i + D/2) of q, in a new tensor. -> [B, H, L, D]
    # 4. Do the same for k, which may have fewer heads. -> [B, Hkv, L, D]
    # 5. Return both in their own dtypes, which the tables may not have. -> tuple
    raise NotImplementedError
