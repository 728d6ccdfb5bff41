def scaled_dot_product_attention(q, k, v, mask=None):
    """softmax(q k^T / sqrt(D)) v, with the softmax over the keys that the mask leaves.

    Lq queries, Lk keys and values, D head dim, Dv value dim; `...` are any leading dims, the same for q, k and v, also none.
    q [..., Lq, D], k [..., Lk, D], v [..., Lk, Dv], mask bool broadcastable to [..., Lq, Lk], True = may attend -> [..., Lq, Dv].
    """
    raise NotImplementedError
