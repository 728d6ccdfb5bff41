import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    """Rotate the features (2i, 2i + 1) of the token at position p by the angle p * base**(-2i/D).

    B batch, H heads, L length, D head dim (even).
    x [B, H, L, D]; position_ids int64 [L], the same for every batch item, or [B, L].
    Returns [B, H, L, D], the dtype of x.
    """
    # 1. Compute the frequencies base**(-2i/D) in float32 or float64, whatever x is. -> [D/2]
    # 2. Multiply every position with every frequency. -> [L, D/2] or [B, L, D/2]
    # 3. If every batch item has its own positions, add an axis for the heads. -> [B, 1, L, D/2]
    # 4. Split the pairs: all features 2i, and all features 2i + 1. -> [B, H, L, D/2]
    # 5. Rotate every pair with the cosine and sine of its angle. -> [B, H, L, D/2]
    # 6. Put the two features of a pair next to each other again: a0 b0 a1 b1. -> [B, H, L, D]
    # 7. Convert to the dtype of x. -> [B, H, L, D]
    raise NotImplementedError
