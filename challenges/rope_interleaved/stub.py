import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    """Turn the neighbours (2i, 2i + 1) of every token by the angle p * base**(-2i/D) of its position p.

    B batch, H heads, L length, D head dim (even).
    x [B, H, L, D]; position_ids int64 [L], the same for every batch item, or [B, L].
    Returns [B, H, L, D], the dtype of x.
    """
    # 1. The frequency of every pair, base**(-2i/D), in float32 or finer whatever x is. -> [D/2]
    # 2. Every position times every frequency. -> [L, D/2] or [B, L, D/2]
    # 3. If every batch item has its own positions, add an axis for the heads. -> [B, 1, L, D/2]
    # 4. Take the pairs apart: all features 2i, and all features 2i + 1. -> [B, H, L, D/2]
    # 5. Turn every pair by the cosine and sine of its angle. -> [B, H, L, D/2]
    # 6. Put the two of a pair beside each other again: a0 b0 a1 b1. -> [B, H, L, D]
    # 7. Go back to the dtype of x. -> [B, H, L, D]
    raise NotImplementedError
