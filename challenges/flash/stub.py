def flash_attention(q, k, v, causal=False, block_size=64):
    """Return softmax(q k^T / sqrt(D)) v, computed over blocks of block_size keys.

    The whole scores [Lq, Lk] are never made. block_size need not divide Lq or Lk.
    B batch, H heads, Lq queries, Lk keys and values, D head dim.
    causal (Lq <= Lk): query i sees key j iff j <= i + (Lk - Lq).
    The running maximum and sums are float32 or finer; the result has the dtype of q.
    q [B, H, Lq, D], k [B, H, Lk, D], v [B, H, Lk, D] -> [B, H, Lq, D].
    """
    # 1. Start the largest score so far of every query below any score (0 is too large).
    #    -> [B, H, Lq, 1]
    # 2. Start two sums of every query at 0, in float32 or finer: of weights, and of weighted
    #    values. -> [B, H, Lq, 1], [B, H, Lq, D]
    # 3. Take keys and values block by block; the last block may be shorter. -> [B, H, block, D]
    # 4. Score every query with the keys of the block, with the scale. -> [B, H, Lq, block]
    # 5. If causal, exclude later keys: the queries are the last Lq of Lk positions.
    #    -> [B, H, Lq, block]
    # 6. Compute the largest score so far, including this block. -> [B, H, Lq, 1]
    # 7. Compute exp(score - new largest score); these weights do not sum to 1 yet.
    #    -> [B, H, Lq, block]
    # 8. Rescale both sums to the new largest score, then add the block.
    #    -> [B, H, Lq, 1], [B, H, Lq, D]
    # 9. After the last block, divide one sum by the other, and cast the result to the dtype of
    #    q. -> [B, H, Lq, D]
    raise NotImplementedError
