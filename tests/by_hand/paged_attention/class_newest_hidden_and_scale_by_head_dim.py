# mistakes: newest-token-hidden, scale-by-head-dim
"""A small class for the cache."""

import torch


class Cache:
    def __init__(self, pool, table, lengths):
        count = table.shape[1] * pool.shape[1]
        self.seen = torch.arange(count)[None] < (lengths - 1).clamp(min=1)[:, None]  # first wrong
        rows = pool[table.clamp(min=0)].flatten(1, 2)
        self.rows = torch.where(self.seen[:, :, None, None], rows, 0)

    def heads(self, number):
        return self.rows.repeat_interleave(number // self.rows.shape[2], dim=2)


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    keys = Cache(k_pages, block_table, lengths)
    values = Cache(v_pages, block_table, lengths)
    energy = torch.einsum("bhd,bshd->bhs", q, keys.heads(q.shape[1])).div(q.shape[-1])  # also wrong
    energy = energy.masked_fill(keys.seen.logical_not()[:, None], torch.finfo(q.dtype).min)
    return torch.einsum("bhs,bshd->bhd", energy.softmax(dim=-1), values.heads(q.shape[1]))
