import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    """Return one decode step of multi-head latent attention, computed on the latents themselves.

    B batch, H heads, L cached tokens, dn and dr the widths of the unrotated and the rotary part,
    r the width of a latent, dv the value dim.
    q_nope [B, H, dn], q_rope [B, H, dr], c_kv [B, L, r], k_rope [B, L, dr],
    w_uk [H, dn, r], w_uv [H, dv, r] -> [B, H, dv].
    The key of head h for a token is [w_uk[h] @ c, k_rope], its value is w_uv[h] @ c. Neither is
    made here.
    """
    # 1. Multiply w_uk of each head into its query. -> [B, H, r]
    # 2. Compare these queries with the latents, which all heads share. -> [B, H, L]
    # 3. Compare the rotary queries with the rotary keys. -> [B, H, L]
    # 4. Add both scores. -> [B, H, L]
    # 5. Scale by 1 / sqrt(dn + dr). -> [B, H, L]
    # 6. Apply the softmax over the tokens. -> [B, H, L]
    # 7. Sum the latents with these weights. -> [B, H, r]
    # 8. Multiply w_uv of each head with its sum. -> [B, H, dv]
    raise NotImplementedError
