# mistakes: values-tiled, scale-by-page
"""Helpers for gathering and for the weights."""

import torch


def gathered(pool, table, real):
    rows = pool[table.clamp(min=0)].reshape(table.shape[0], -1, *pool.shape[2:])
    return rows.masked_fill(real.logical_not()[..., None, None], 0)


def weights_of(q, keys, real, width):
    scores = torch.einsum("bhd,bshd->bhs", q, keys) / width**0.5  # also wrong
    scores = scores.masked_fill(~real[:, None], float("-inf"))
    return torch.softmax(scores, dim=-1)


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    slots = block_table.shape[1] * k_pages.shape[1]
    real = torch.arange(slots, device=q.device).unsqueeze(0) < lengths.unsqueeze(1)
    group = q.shape[1] // k_pages.shape[2]
    keys = gathered(k_pages, block_table, real).repeat_interleave(group, dim=2)
    values = torch.cat([gathered(v_pages, block_table, real)] * group, dim=2)  # first wrong
    return torch.einsum("bhs,bshd->bhd", weights_of(q, keys, real, k_pages.shape[1]), values)
