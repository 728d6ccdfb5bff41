def paged_attention(q, k_pages, v_pages, block_table, lengths):
    """Return one decode step of attention on a paged KV cache.

    B sequences, H query heads, Hkv key/value heads, D head dim, P pages of `page` slots each.
    q [B, H, D]: one query per sequence. k_pages, v_pages [P, page, Hkv, D]: the pages of all
    sequences. block_table int64 [B, max_blocks]: the pages of a sequence in order, -1 where unused.
    lengths int64 [B], at least 1: the number of tokens of a sequence.
    Slots past a length may hold anything, NaN too. -> [B, H, D].
    """
    # 1. Replace -1 in the table by the index of any page. -> [B, max_blocks]
    # 2. Collect the pages of each sequence, and join their slots. -> [B, slots, Hkv, D]
    # 3. Compare the number of each slot with the length of its sequence. -> [B, slots]
    # 4. Clear keys and values of the other slots: 0 * NaN is NaN. -> [B, slots, Hkv, D]
    # 5. Repeat each key/value head for its group of query heads. -> [B, slots, H, D]
    # 6. Score the query with every key, with the scale 1 / sqrt(D). -> [B, H, slots]
    # 7. Hide the unused slots, then apply the softmax over the slots. -> [B, H, slots]
    # 8. Sum the values with these weights. -> [B, H, D]
    raise NotImplementedError
