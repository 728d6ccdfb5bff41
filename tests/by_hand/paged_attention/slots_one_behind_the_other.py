# mistakes: table-of-the-first-sequence
"""Numbers of slots, but from the table of the first sequence for all."""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    size, groups, width = k_pages.shape[1:]
    longest = block_table.shape[1] * size
    t = torch.arange(longest, device=q.device)
    ids = block_table[0][t // size].clamp(min=0) * size + t % size  # first wrong
    ids = ids.expand(len(q), longest)
    real = t < lengths.unsqueeze(-1)
    keys = k_pages.reshape(-1, groups, width)[ids]
    vals = v_pages.reshape(-1, groups, width)[ids]
    zero = torch.zeros_like(vals)
    keys = torch.where(real[..., None, None], keys, zero)
    vals = torch.where(real[..., None, None], vals, zero)
    keys = keys.repeat_interleave(q.shape[1] // groups, 2)
    vals = vals.repeat_interleave(q.shape[1] // groups, 2)
    logit = torch.einsum("bhd,bthd->bht", q / width**0.5, keys)
    logit = logit.masked_fill(real.logical_not().unsqueeze(1), float("-inf"))
    return torch.einsum("bht,bthd->bhd", logit.softmax(2), vals)
