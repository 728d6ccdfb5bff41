import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    """Return the outputs of the gated delta rule, and the state after the last token.

    S_t = decay_t * S_(t-1) (I - beta_t k_t k_t^T) + beta_t v_t k_t^T, o_t = S_t q_t.
    B batch, H heads, L tokens, D head dim, Dv value dim.
    q, k [B, H, L, D], v [B, H, L, Dv], beta, decay [B, H, L].
    state S [B, H, Dv, D] of all earlier tokens; None = no earlier tokens.
    The state is kept in float32 or finer; it is returned like this, or in the dtype of q.
    -> out [B, H, L, Dv] in the dtype of q, S [B, H, Dv, D].
    """
    # 1. Start with the caller's state, or with zeros, in float32 or finer. -> [B, H, Dv, D]
    # 2. For each token, multiply the state by its decay, into a new tensor. -> [B, H, Dv, D]
    # 3. Read the value that the faded state holds for the key. -> [B, H, Dv]
    # 4. Subtract it from the new value, and multiply by beta. -> [B, H, Dv]
    # 5. Add the outer product of this step and the key to the state. -> [B, H, Dv, D]
    # 6. Read the new state with the query; there is no scale. -> [B, H, Dv]
    # 7. Stack the results of all tokens in the dtype of q, and return the last state with them.
    #    -> [B, H, L, Dv]
    raise NotImplementedError
