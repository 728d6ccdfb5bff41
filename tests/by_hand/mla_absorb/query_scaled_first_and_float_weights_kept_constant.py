# mistakes: weights-detached
"""The scale is in both queries; softmax in float32 on detached scores, to save memory."""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    root = (q_nope.shape[-1] + q_rope.shape[-1]) ** 0.5
    a = torch.einsum("bhi,hij->bhj", q_nope / root, w_uk)
    b = q_rope / root
    energy = torch.baddbmm(torch.bmm(b, k_rope.mT), a, c_kv.mT)
    att = torch.softmax(energy.detach().float(), -1).type_as(c_kv)  # first wrong
    return torch.einsum("bhj,hvj->bhv", torch.bmm(att, c_kv), w_uv)
