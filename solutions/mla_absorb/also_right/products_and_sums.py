"""Use only products of entries and sums over an axis, without einsum and without matmul.

Each axis that is summed is visible in the code, which helps at a whiteboard. The products take H *
L * r entries before the sum, so this is far slower on a GPU, although no key or value is made.
"""

import math

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    absorbed = (q_nope[..., None] * w_uk).sum(dim=2)  # [B, H, r]
    content = (absorbed[:, :, None, :] * c_kv[:, None, :, :]).sum(dim=3)  # [B, H, L]
    position = (q_rope[:, :, None, :] * k_rope[:, None, :, :]).sum(dim=3)
    score = (content + position) / math.sqrt(q_nope.shape[2] + q_rope.shape[2])
    score = score - score.amax(dim=2, keepdim=True)
    weight = torch.exp(score)
    weight = weight / weight.sum(dim=2, keepdim=True)
    latent = (weight[..., None] * c_kv[:, None]).sum(dim=2)  # [B, H, r]
    return (latent[:, :, None, :] * w_uv).sum(dim=3)
