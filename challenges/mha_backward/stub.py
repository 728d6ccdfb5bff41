def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    """Return the result of multi-head self-attention, and all gradients, by hand.

    B batch, L tokens, M = d_model, H = num_heads, D = M / H head dim.
    x [B, L, M]; w_q, w_k, w_v, w_o [M, M], as nn.Linear keeps them: y = x @ w.T, no biases.
    mask bool broadcastable to [B, H, L, L], True = may attend, or None.
    grad_out [B, L, M] is the gradient of the loss with respect to the result.
    -> out [B, L, M], dx [B, L, M], dw_q, dw_k, dw_v, dw_o [M, M].
    """
    # 1. Refuse an M that is not divisible by H, with a ValueError. -> D
    # 2. Project x to queries, keys and values, and split the heads. -> [B, H, L, D]
    # 3. Compute the weights: scores, scale, mask, softmax over the keys. -> [B, H, L, L]
    # 4. Sum the values with the weights, and merge the heads. -> [B, L, M]
    # 5. Apply the output projection. -> out [B, L, M]
    # 6. Compute dw_o, and the gradient of the merged heads, which is split. -> [B, H, L, D]
    # 7. Compute the gradients of the values and of the weights.
    #    -> [B, H, L, D], [B, H, L, L]
    # 8. Compute the gradient of the scores: the mean of each row is subtracted. -> [B, H, L, L]
    # 9. Compute the gradients of queries and keys, and merge the heads of all three.
    #    -> [B, L, M]
    # 10. Compute dw_q, dw_k and dw_v, summed over all tokens. -> [M, M]
    # 11. Add up the three parts of dx. -> [B, L, M]
    raise NotImplementedError
