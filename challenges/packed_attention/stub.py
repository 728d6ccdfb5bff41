def packed_attention(q, k, v, cu_seqlens):
    """Return causal attention within each of S packed sequences.

    total tokens of all sequences together, H heads, D head dim, S sequences.
    q, k, v [total, H, D]: the tokens of all sequences, in order, without padding.
    cu_seqlens int64 [S+1]: sequence s has the tokens cu_seqlens[s] .. cu_seqlens[s+1] - 1, which
    may be none. -> [total, H, D].
    """
    # 1. Number the tokens, on the device of q. -> [total]
    # 2. Find the sequence of each token; some sequences are empty. -> [total]
    # 3. Compare the sequence of each query with the sequence of each key. -> [total, total]
    # 4. Hide the keys that come later than the query, too. -> [total, total]
    # 5. Move the heads to the front. -> [H, total, D]
    # 6. Score every query with every key, with the scale 1 / sqrt(D). -> [H, total, total]
    # 7. Apply the mask, then the softmax over the keys. -> [H, total, total]
    # 8. Sum the values with these weights, and move the heads back. -> [total, H, D]
    raise NotImplementedError
