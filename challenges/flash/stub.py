def flash_attention(q, k, v, causal=False, block_size=64):
    """softmax(q k^T / sqrt(D)) v, computed over blocks of block_size keys; the whole [Lq, Lk] scores are never made.

    B batch, H heads, Lq queries, Lk keys and values, D head dim. block_size need divide neither length and may exceed both.
    causal (Lq <= Lk): query i sees key j iff j <= i + (Lk - Lq).
    q [B, H, Lq, D], k [B, H, Lk, D], v [B, H, Lk, D] -> [B, H, Lq, D].
    """
    # 1. Start the largest score so far of every query, below any score: 0 is not. -> [B, H, Lq, 1]
    # 2. Start two sums of every query at 0: of weights, of weighted values. -> [B, H, Lq, 1], [B, H, Lq, D]
    # 3. Walk over keys and values a block at a time; the last may be shorter. -> [B, H, block, D]
    # 4. Score every query with the keys of the block, scaled. -> [B, H, Lq, block]
    # 5. If causal, shut out later keys: the queries are the last Lq of Lk positions. -> [B, H, Lq, block]
    # 6. The largest score so far, this block's included. -> [B, H, Lq, 1]
    # 7. Weights that do not sum to 1 yet: exp, measured from the new largest score. -> [B, H, Lq, block]
    # 8. Bring both sums to the new largest score, then add the block. -> [B, H, Lq, 1], [B, H, Lq, D]
    # 9. After the last block, divide one sum by the other. -> [B, H, Lq, D]
    raise NotImplementedError
