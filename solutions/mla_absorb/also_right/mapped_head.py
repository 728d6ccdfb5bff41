"""Write the step for one head of one sequence, and let vmap add heads and batch.

The function has only vectors and matrices, as on paper. in_dims states once which argument has
which axis, and a mistake there is hard to see if sizes coincide.
"""

import torch


def one_head(q_nope, q_rope, latents, rope_keys, w_uk, w_uv):
    """q_nope [dn], q_rope [dr], latents [L, r], rope_keys [L, dr], w_uk [dn, r], w_uv [dv, r]."""
    width = q_nope.shape[0] + q_rope.shape[0]
    scores = torch.mv(latents, torch.mv(w_uk.t(), q_nope)) + torch.mv(rope_keys, q_rope)
    weights = torch.softmax(scores * width**-0.5, dim=0)
    return torch.mv(w_uv, torch.mv(latents.t(), weights))


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    heads = torch.vmap(one_head, in_dims=(0, 0, None, None, 0, 0))
    batch = torch.vmap(heads, in_dims=(0, 0, 0, 0, None, None))
    return batch(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv)
