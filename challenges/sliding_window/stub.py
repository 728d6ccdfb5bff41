def sliding_window_attention(q, k, v, window):
    """Return causal attention in which query i sees only the keys i-window+1 .. i.

    B batch, H heads, L queries, keys and values, D head dim.
    window (int, at least 1) counts the token itself; it may be larger than L.
    q [B, H, L, D], k [B, H, L, D], v [B, H, L, D] -> [B, H, L, D].
    """
    # 1. Number the positions, on the device of q. -> [L]
    # 2. Compute how far each key lies before each query. -> [L, L]
    # 3. Allow the distances 0 .. window-1, and no key of the future. -> [L, L]
    # 4. Score every query with every key, with the scale 1 / sqrt(D). -> [B, H, L, L]
    # 5. Apply the mask before the softmax. -> [B, H, L, L]
    # 6. Apply the softmax over the keys. -> [B, H, L, L]
    # 7. Sum the values with these weights. -> [B, H, L, D]
    raise NotImplementedError
