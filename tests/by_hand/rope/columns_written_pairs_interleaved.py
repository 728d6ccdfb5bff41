# mistakes: pairs-interleaved
"""Both coordinates are written into an empty result, by a helper that takes one tensor."""

import torch


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    steps = torch.arange(0, head_dim, 2, dtype=torch.float64)
    rates = base ** (-steps / head_dim)
    grid = torch.outer(torch.arange(max_seq_len, dtype=torch.float64), rates)
    grid = torch.hstack((grid, grid))
    return grid.cos().float(), grid.sin().float()


def spin(vec, co, si):
    wide = torch.promote_types(vec.dtype, co.dtype)
    res = torch.empty(vec.shape, dtype=wide, device=vec.device)
    fst = vec[..., 0::2]  # first wrong
    snd = vec[..., 1::2]
    res[..., 0::2] = fst * co[..., 0::2] - snd * si[..., 0::2]
    res[..., 1::2] = snd * co[..., 1::2] + fst * si[..., 1::2]
    return res.to(vec.dtype)


def apply_rope(q, k, cos, sin, position_ids=None):
    L = q.shape[2]
    if position_ids is None:
        position_ids = torch.arange(L, device=q.device).reshape(1, L)
    co = cos[position_ids, :][:, None, :, :]
    si = sin[position_ids, :][:, None, :, :]
    new_q = spin(q, co, si)
    new_k = spin(k, co, si)
    return new_q, new_k
