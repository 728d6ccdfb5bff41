def scaled_dot_product_attention(q, k, v, mask=None):
    """Return softmax(q k^T / sqrt(D)) v, with the softmax over the keys that the mask allows.

    Lq queries, Lk keys and values, D head dim, Dv value dim.
    `...` are any leading dims, or none, the same for q, k and v.
    q [..., Lq, D], k [..., Lk, D], v [..., Lk, Dv],
    mask bool broadcastable to [..., Lq, Lk], True = may attend.
    -> [..., Lq, Dv].
    """
    # 1. Score every query with every key, for any leading dims. -> [..., Lq, Lk]
    # 2. Scale by 1 / sqrt(D): a sum of more products is larger. -> [..., Lq, Lk]
    # 3. Apply the mask before the softmax. -> [..., Lq, Lk]
    # 4. Apply the softmax over the keys. -> [..., Lq, Lk]
    # 5. Sum the values with these weights. -> [..., Lq, Dv]
    raise NotImplementedError
