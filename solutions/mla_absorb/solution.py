"""Decode one token with multi-head latent attention, without making keys and values ("absorption").

    q_h . (W_UK_h c_j) = (W_UK_h^T q_h) . c_j
    sum_j p_hj (W_UV_h c_j) = W_UV_h (sum_j p_hj c_j)
    p_h = softmax((W_UK_h^T q_h . c_j + q_rope_h . k_rope_j) / sqrt(Dn + Dr))

All heads then attend to the same latents, as in multi-query attention.
DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.
"""

import math

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    """Return the results of all heads for one new token, [B, H, Dv].

    q_nope [B, H, Dn], q_rope [B, H, Dr], rotated; c_kv [B, L, r], k_rope [B, L, Dr], rotated;
    w_uk [H, Dn, r], w_uv [H, Dv, r].
    """
    nope_dim, rope_dim, rank = q_nope.shape[-1], q_rope.shape[-1], c_kv.shape[-1]
    if w_uk.shape[-1] != rank or w_uv.shape[-1] != rank:
        raise ValueError(
            f"c_kv has rank {rank}, but w_uk has {w_uk.shape[-1]} and w_uv {w_uv.shape[-1]}"
        )

    # w_uk moves from the L keys to the single query: one product instead of L
    q_latent = torch.einsum("bhd,hdr->bhr", q_nope, w_uk)  # [B, H, r]

    # the heads are the rows of one matrix, because all heads share latents and rotary keys
    nope_scores = q_latent @ c_kv.transpose(-2, -1)  # [B, H, L]
    rope_scores = q_rope @ k_rope.transpose(-2, -1)  # [B, H, L]
    scores = nope_scores + rope_scores  # [B, H, L]
    # the width of a head's query before the absorption, not r + Dr
    scores = scores / math.sqrt(nope_dim + rope_dim)
    weights = torch.softmax(scores, dim=-1)  # [B, H, L]

    # w_uv comes after the sum over the tokens
    latent_sum = weights @ c_kv  # [B, H, r]
    return torch.einsum("bhr,hvr->bhv", latent_sum, w_uv)  # [B, H, Dv]
