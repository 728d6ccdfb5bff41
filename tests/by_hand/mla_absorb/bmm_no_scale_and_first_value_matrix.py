# mistakes: no-scale, value-matrix-of-one-head
"""bmm with the heads as batch; the scale is forgotten, and one value matrix is read."""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    q = torch.bmm(q_nope.transpose(0, 1), w_uk).transpose(0, 1)
    score = torch.bmm(q, c_kv.mT)
    score = score + torch.bmm(q_rope, k_rope.mT)  # first wrong
    prob = torch.softmax(score, dim=-1)
    return torch.bmm(prob, c_kv) @ w_uv[0].T  # also wrong
