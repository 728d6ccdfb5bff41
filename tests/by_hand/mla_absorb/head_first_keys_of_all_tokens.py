# mistakes: keys-expanded
"""The heads lead every tensor; the keys are made before they meet the query."""

import math

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    latents = c_kv.unsqueeze(1)
    keys = torch.matmul(latents, w_uk.transpose(1, 2))  # first wrong
    content = torch.matmul(keys, q_nope.unsqueeze(-1)).squeeze(-1)
    place = torch.matmul(q_rope, k_rope.transpose(1, 2))
    width = q_nope.shape[2] + q_rope.shape[2]
    p = ((content + place) / math.sqrt(width)).softmax(2)
    summed = torch.matmul(p, c_kv)
    return torch.matmul(w_uv, summed[..., None])[..., 0]
