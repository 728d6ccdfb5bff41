def softcap_attention(q, k, v, cap, mask=None):
    """Return attention whose scores are kept between -cap and cap by cap * tanh(scores / cap).

    B batch, H heads, Lq queries, Lk keys and values, D head dim; cap is a number above 0.
    q [B, H, Lq, D], k [B, H, Lk, D], v [B, H, Lk, D],
    mask bool broadcastable to [B, H, Lq, Lk], True = may attend.
    -> [B, H, Lq, D].
    """
    # 1. Score every query with every key, with the scale 1 / sqrt(D). -> [B, H, Lq, Lk]
    # 2. Express the scores as shares of the cap, between -1 and 1. -> [B, H, Lq, Lk]
    # 3. Multiply by the cap. -> [B, H, Lq, Lk]
    # 4. Apply the mask, after the cap and before the softmax. -> [B, H, Lq, Lk]
    # 5. Apply the softmax over the keys. -> [B, H, Lq, Lk]
    # 6. Sum the values with these weights. -> [B, H, Lq, D]
    raise NotImplementedError
