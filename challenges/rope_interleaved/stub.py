import torch


def apply_rope_interleaved(x, position_ids, base=10000.0):
    """Turn the neighbours (2i, 2i + 1) of every token by the angle p * base**(-2i/D) of its position p.

    B batch, H heads, L length, D head dim (even).
    x [B, H, L, D]; position_ids int64 [L], the same for every batch item, or [B, L].
    Returns [B, H, L, D], the dtype of x.
    """
    raise NotImplementedError
