# mistakes: unused-values-weighted-with-zero
"""Masks the scores by hand-written softmax; the values stay as they are."""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    table = torch.where(block_table >= 0, block_table, torch.zeros_like(block_table))
    k = torch.cat(tuple(k_pages[table].unbind(1)), dim=1)
    v = torch.cat(tuple(v_pages[table].unbind(1)), dim=1)  # first wrong
    times = q.shape[1] // k.shape[2]
    k, v = (torch.repeat_interleave(x, times, dim=2).permute(0, 2, 1, 3) for x in (k, v))
    s = torch.matmul(k, q[..., None])[..., 0] * q.shape[-1] ** -0.5
    real = torch.arange(s.shape[-1]).expand(len(q), -1) < lengths[:, None]
    s = torch.where(real[:, None], s, float("-inf"))
    e = torch.exp(s - s.amax(-1, keepdim=True))
    p = e / e.sum(-1, keepdim=True)
    return torch.matmul(p[:, :, None], v)[:, :, 0]
