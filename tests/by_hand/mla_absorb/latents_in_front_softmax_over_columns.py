# mistakes: softmax-over-heads
"""Scores as [B, L, H], with the tokens as rows; the softmax runs along the last axis."""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    q = torch.matmul(q_nope.transpose(0, 1), w_uk).permute(1, 2, 0)
    table = torch.matmul(c_kv, q) + torch.matmul(k_rope, q_rope.mT)
    table = table.div((w_uk.shape[1] + k_rope.shape[2]) ** 0.5)
    share = table.softmax(-1)  # first wrong
    mixed = torch.matmul(share.mT, c_kv)
    return torch.matmul(w_uv, mixed.unsqueeze(3)).flatten(2)
