def scaled_dot_product_attention(q, k, v, mask=None):
    """softmax(q k^T / sqrt(D)) v, with the softmax over the keys that the mask leaves.

    Lq queries, Lk keys and values, D head dim, Dv value dim; `...` are any leading dims, the same for q, k and v, also none.
    q [..., Lq, D], k [..., Lk, D], v [..., Lk, Dv], mask bool broadcastable to [..., Lq, Lk], True = may attend -> [..., Lq, Dv].
    """
    # 1. Score every query with every key, whatever the leading dims. -> [..., Lq, Lk]
    # 2. Scale by 1 / sqrt(D): the more products in a sum, the larger it gets. -> [..., Lq, Lk]
    # 3. Shut out what the mask forbids, before the softmax. -> [..., Lq, Lk]
    # 4. Softmax over the keys. -> [..., Lq, Lk]
    # 5. Weight the values. -> [..., Lq, Dv]
    raise NotImplementedError
