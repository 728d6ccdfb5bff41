# mistakes: unused-pages-raise-an-error
"""index_select with the table as it is."""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    batch, blocks = block_table.shape
    page = k_pages.shape[1]

    def collect(pool):
        rows = torch.index_select(pool, 0, block_table.reshape(-1))  # first wrong
        rows = rows.reshape(batch, blocks * page, *pool.shape[2:])
        rows = torch.nan_to_num(rows, 0.0, 0.0, 0.0).transpose(1, 2)
        return rows.repeat_interleave(q.shape[1] // pool.shape[2], dim=1)

    past = torch.arange(blocks * page)[None] >= lengths[:, None]
    s = (q.unsqueeze(2) @ collect(k_pages).mT).squeeze(2) / q.shape[-1] ** 0.5
    w = torch.softmax(s.masked_fill(past[:, None], -1e9), dim=-1)
    return (w.unsqueeze(2) @ collect(v_pages)).squeeze(2)
