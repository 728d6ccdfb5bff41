def attention_backward(q, k, v, grad_out, mask=None):
    """Return the gradients of softmax(q k^T / sqrt(D)) v by hand: dq, dk and dv.

    grad_out is the gradient of the loss with respect to the result of this formula.
    B batch, H heads, Lq queries, Lk keys and values, D head dim, Dv value dim.
    q [B, H, Lq, D], k [B, H, Lk, D], v [B, H, Lk, Dv], grad_out [B, H, Lq, Dv],
    mask bool broadcastable to [B, H, Lq, Lk], True = may attend.
    -> dq [B, H, Lq, D], dk [B, H, Lk, D], dv [B, H, Lk, Dv].
    """
    # 1. Compute the scaled scores again. -> [B, H, Lq, Lk]
    # 2. Apply the mask, then the softmax over the keys. -> [B, H, Lq, Lk]
    # 3. Sum grad_out over the queries, with the weights: dv. -> [B, H, Lk, Dv]
    # 4. Multiply grad_out by the values: the gradient of the weights. -> [B, H, Lq, Lk]
    # 5. Take the mean of this gradient over the keys, with the weights. -> [B, H, Lq, 1]
    # 6. Subtract the mean and multiply by the weights: the gradient of the scores.
    #    -> [B, H, Lq, Lk]
    # 7. Multiply by the scale of the scores. -> [B, H, Lq, Lk]
    # 8. Multiply by the keys: dq. -> [B, H, Lq, D]
    # 9. Multiply the transposed gradient by the queries: dk. -> [B, H, Lk, D]
    raise NotImplementedError
