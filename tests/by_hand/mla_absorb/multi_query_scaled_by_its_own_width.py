# mistakes: scale-by-latent-width
"""Multi-query attention with one joined key; the scale comes from the width of this key."""

import torch


def multi_query(q, k, width):
    sim = torch.bmm(q, k.mT)
    sim = sim * q.shape[-1] ** -0.5  # first wrong
    return torch.bmm(torch.softmax(sim, dim=-1), k)[..., :width]


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    wide = torch.einsum("hdr,bhd->bhr", w_uk, q_nope)
    q = torch.cat((wide, q_rope), dim=-1)
    k = torch.cat((c_kv, k_rope), dim=-1)
    mixed = multi_query(q, k, c_kv.shape[-1])
    return (w_uv @ mixed.unsqueeze(-1)).squeeze(-1)
