# mistakes: value-matrices-summed
"""Two einsums of three operands; g and h both mean heads."""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    dims = q_nope.shape[-1] + q_rope.shape[-1]
    s = torch.einsum("bhn,hnc,btc->bht", q_nope, w_uk, c_kv)
    s = s + torch.einsum("bhe,bte->bht", q_rope, k_rope)
    a = torch.nn.functional.softmax(s / dims**0.5, dim=2)
    return torch.einsum("bht,btc,gvc->bhv", a, c_kv, w_uv)  # first wrong
