def sink_attention(q, k, v, sink_logits, mask=None):
    """Return attention in which each head has one extra logit in the denominator of its softmax.

    B batch, H heads, Lq queries, Lk keys and values, D head dim.
    q [B, H, Lq, D], k [B, H, Lk, D], v [B, H, Lk, D],
    sink_logits [H], of any float dtype: one per head, without scale and without a value,
    mask bool broadcastable to [B, H, Lq, Lk], True = may attend; a row without True gives zeros.
    -> [B, H, Lq, D], the dtype of q.
    """
    # 1. Score every query with every key, with the scale 1 / sqrt(D). -> [B, H, Lq, Lk]
    # 2. Apply the mask before the softmax. -> [B, H, Lq, Lk]
    # 3. Give the sinks the dtype of the scores and one entry per row. -> [B, H, Lq, 1]
    # 4. Put the sink next to the scores. -> [B, H, Lq, Lk + 1]
    # 5. Apply the softmax over keys and sink. -> [B, H, Lq, Lk + 1]
    # 6. Drop the weight of the sink, which has no value. -> [B, H, Lq, Lk]
    # 7. Sum the values with these weights. -> [B, H, Lq, D]
    raise NotImplementedError
