def linear_attention(q, k, v, state=None):
    """Return causal linear attention, and the state after the last token.

    The weight of key j for query i >= j is phi(q_i) . phi(k_j), with phi(x) = elu(x) + 1, divided
    by the sum of these weights.
    B batch, H heads, L tokens, D head dim, Dv value dim.
    q, k [B, H, L, D], v [B, H, L, Dv].
    state (S, z) of all earlier tokens, S [B, H, D, Dv], z [B, H, D]; None = no earlier tokens.
    S and z are summed in float32 or finer; they are returned like this, or in the dtype of q.
    -> out [B, H, L, Dv] in the dtype of q, (S, z).
    """
    # 1. Apply the feature map elu(x) + 1 to queries and keys; values stay. -> [B, H, L, D]
    # 2. Start with the caller's state, or with zeros, in float32 or finer.
    #    -> [B, H, D, Dv], [B, H, D]
    # 3. For each token, add the outer product of its key features and its value to S, in a new
    #    tensor. -> [B, H, D, Dv]
    # 4. Add its key features to z. -> [B, H, D]
    # 5. Read S with the query features. -> [B, H, Dv]
    # 6. Divide by the product of query features and z. -> [B, H, Dv]
    # 7. Stack the results of all tokens in the dtype of q, and return the last state with them.
    #    -> [B, H, L, Dv]
    raise NotImplementedError
