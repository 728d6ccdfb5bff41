# mistakes: key-matrix-reshaped, scale-by-nope-dim
"""w_uk reshaped for a plain matmul; the scale of the unrotated part for everything."""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    heads, dn, r = w_uk.shape
    up = w_uk.reshape(heads, r, dn)
    absorbed = torch.matmul(up, q_nope.unsqueeze(-1)).squeeze(-1)  # first wrong
    raw = absorbed @ c_kv.transpose(1, 2) + q_rope @ k_rope.transpose(1, 2)
    raw = raw / dn**0.5  # also wrong
    p = torch.log_softmax(raw, dim=2).exp()
    return torch.einsum("bhc,hvc->bhv", p @ c_kv, w_uv)
