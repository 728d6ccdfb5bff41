"""Build a 2 x 2 matrix for every pair and position, and apply it to q and k with one einsum.

The matrices hold as many numbers as the gathered cosines and sines of the reference. Joining q and
k copies both, and products of many tiny matrices use the hardware poorly.
"""

import torch
from torch import einsum


def rope_cos_sin(head_dim, max_seq_len, base=10_000.0):
    columns = torch.arange(head_dim) % (head_dim // 2)
    angles = torch.arange(max_seq_len).unsqueeze(1) / torch.pow(base, 2 * columns / head_dim)
    return torch.cos(angles), torch.sin(angles)


def apply_rope(q, k, cos, sin, position_ids=None):
    heads = q.shape[1]
    both = torch.cat([q, k], dim=1)
    b, n, length, d = both.shape
    if position_ids is None:
        position_ids = torch.arange(length, device=q.device).repeat(b, 1)
    c = torch.take_along_dim(cos.expand(b, -1, -1), position_ids[..., None], dim=1)[..., : d // 2]
    s = torch.take_along_dim(sin.expand(b, -1, -1), position_ids[..., None], dim=1)[..., : d // 2]
    matrices = torch.stack([torch.stack([c, -s], dim=-1), torch.stack([s, c], dim=-1)], dim=-2)  # b, l, d/2, 2, 2
    pairs = both.reshape(b, n, length, 2, d // 2).to(torch.promote_types(both.dtype, torch.float32))
    turned = einsum("blixy,bnlyi->bnlxi", matrices.to(pairs.dtype), pairs).reshape(b, n, length, d).to(q.dtype)
    return turned[:, :heads], turned[:, heads:]
