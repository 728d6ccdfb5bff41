import torch


def alibi_slopes(num_heads):
    """Return the slope of every head.

    H num_heads. If H is a power of two, slope i is 2**(-8 (i+1) / H), i = 0 .. H-1.
    Otherwise: the slopes of the next smaller power of two n, then every other slope of 2n,
    from the first, until there are H.
    -> float32 [H].
    """
    # 1. Find the largest power of two that is at most H. -> n
    # 2. Make its slopes: a geometric sequence that ends at 2**-8. -> [n]
    # 3. Make the slopes of 2n, and take every other slope, from the first. -> [n]
    # 4. Append as many of them as are missing. -> [H]
    raise NotImplementedError


def alibi_attention(q, k, v):
    """Return causal attention with slope * (j - i) added to the scaled score of query i and key j.

    B batch, H heads, L queries, keys and values, D head dim. Heads have the slopes of alibi_slopes.
    q [B, H, L, D], k [B, H, L, D], v [B, H, L, D] -> [B, H, L, D], the dtype of q.
    """
    # 1. Score every query with every key, with the scale 1 / sqrt(D). -> [B, H, L, L]
    # 2. Compute the distance j - i of every key and query. -> [L, L]
    # 3. Multiply it by the slope of every head, in float32. -> [H, L, L]
    # 4. Add this bias to the scaled scores. -> [B, H, L, L]
    # 5. Hide the keys of the future. -> [B, H, L, L]
    # 6. Apply the softmax over the keys, and return to the dtype of q. -> [B, H, L, L]
    # 7. Sum the values with these weights. -> [B, H, L, D]
    raise NotImplementedError
