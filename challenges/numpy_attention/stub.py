def softmax(x, axis=-1):
    """Return the softmax of an array over one axis, for entries of any size.

    x [..., N, ...] with N entries along `axis`. An entry of -inf gets 0; a row of -inf gives zeros.
    -> [..., N, ...]
    """
    # 1. Find the largest entry of each row, and keep the axis. -> [..., 1, ...]
    # 2. Replace a largest entry of -inf by 0: -inf minus -inf is NaN. -> [..., 1, ...]
    # 3. Subtract it, so that no exponential overflows, and apply exp. -> [..., N, ...]
    # 4. Sum over the axis, and keep it. -> [..., 1, ...]
    # 5. Divide by the sum, but not by 0. -> [..., N, ...]
    raise NotImplementedError


def scaled_dot_product_attention(q, k, v, mask=None):
    """Return softmax(q k^T / sqrt(D)) v and the softmax, over the keys that the mask allows.

    `...` are any leading dims, or none, the same for q, k and v.
    q [..., Lq, D], k [..., Lk, D], v [..., Lk, Dv],
    mask bool broadcastable to [..., Lq, Lk], True = may attend.
    -> out [..., Lq, Dv], weights [..., Lq, Lk].
    """
    # 1. Score every query with every key, for any leading dims. -> [..., Lq, Lk]
    # 2. Scale by 1 / sqrt(D). -> [..., Lq, Lk]
    # 3. Apply the mask before the softmax. -> [..., Lq, Lk]
    # 4. Apply the softmax over the keys. -> [..., Lq, Lk]
    # 5. Sum the values with these weights. -> [..., Lq, Dv]
    raise NotImplementedError


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    """Return multi-head self-attention over one sequence.

    x [L, M], w_q, w_k, w_v, w_o [M, M], used as x @ w. M % num_heads != 0: ValueError.
    Head 0 has the first D = M / num_heads features. causal: query i sees keys 0 to i.
    -> [L, M].
    """
    # 1. Raise ValueError if num_heads does not divide M. -> nothing
    # 2. Project x to queries, keys and values. -> [L, M]
    # 3. Cut the features of each into heads, and move the heads to the front. -> [H, L, D]
    # 4. Make the causal mask, if there is one. -> [L, L]
    # 5. Apply attention to all heads at once. -> [H, L, D]
    # 6. Move the heads back, and join their features. -> [L, M]
    # 7. Apply the output projection. -> [L, M]
    raise NotImplementedError
