import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    """Tables of the angles t * base**(-2i/D): position t, pair i < D/2.

    D head_dim (even), T max_seq_len.
    Returns (cos, sin), each [T, D], float32: columns i and i + D/2 belong to the same angle.
    """
    raise NotImplementedError


def apply_rope(q, k, cos, sin, position_ids=None):
    """Turn the pairs (i, i + D/2) of every query and key by the angles of its position.

    q [B, H, L, D], k [B, Hkv, L, D]; cos, sin [T, D], float32, as rope_cos_sin makes them, T >= L.
    position_ids int64 [B, L], entries 0 .. T-1 in any order; None = 0 .. L-1.
    Returns (q, k), shapes and dtypes as they came: bfloat16 q and k give bfloat16, though the tables are float32.
    """
    raise NotImplementedError
