"""Write scores and result as one einsum each, with three operands.

The two lines are the formula. Without opt_einsum, einsum contracts from left to right, so the order
of the operands decides the cost: with the latents before the query, it would make all keys.
"""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    scores = torch.einsum("bhd,hdr,blr->bhl", q_nope, w_uk, c_kv)
    scores += torch.einsum("bhe,ble->bhl", q_rope, k_rope)
    scores *= (q_nope.shape[2] + q_rope.shape[2]) ** -0.5
    return torch.einsum("bhl,blr,hvr->bhv", scores.softmax(-1), c_kv, w_uv)
