def flash_attention(q, k, v, causal=False, block_size=64):
    """softmax(q k^T / sqrt(D)) v, computed over blocks of block_size keys; the whole [Lq, Lk] scores are never made.

    B batch, H heads, Lq queries, Lk keys and values, D head dim. block_size need divide neither length and may exceed both.
    causal (Lq <= Lk): query i sees key j iff j <= i + (Lk - Lq).
    q [B, H, Lq, D], k [B, H, Lk, D], v [B, H, Lk, D] -> [B, H, Lq, D].
    """
    raise NotImplementedError
