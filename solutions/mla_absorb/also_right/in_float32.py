"""Compute in float32 or finer, with the scale in the query, and cast the result back.

In bfloat16 this keeps the digits of the scores, which are sums of r + dr products. The cast copies
the whole cache at twice its size, which a kernel avoids by casting piece by piece.
"""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    def wide(x):
        return x.to(torch.promote_types(x.dtype, torch.float32))

    dn, dr = q_nope.shape[-1], q_rope.shape[-1]
    scale = (dn + dr) ** -0.5
    latents = wide(c_kv)
    query = (wide(q_nope) * scale).unsqueeze(-2) @ wide(w_uk)  # [B, H, 1, r]
    logits = query.squeeze(-2) @ latents.mT + (wide(q_rope) * scale) @ wide(k_rope).mT
    mixed = logits.softmax(-1) @ latents
    return (wide(w_uv) @ mixed.unsqueeze(-1)).squeeze(-1).to(q_nope.dtype)
