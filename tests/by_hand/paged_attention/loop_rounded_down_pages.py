# mistakes: last-page-lost-if-partly-filled
# diagnosis: line elsewhere
"""A loop over the sequences, with the number of pages rounded down."""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    size = k_pages.shape[1]
    repeat = q.shape[1] // k_pages.shape[2]
    rows = []
    for b in range(q.shape[0]):
        n = int(lengths[b])
        count = max(n // size, 1)  # first wrong
        ids = block_table[b, :count]
        keys = k_pages[ids].flatten(0, 1)[:n].repeat_interleave(repeat, 1)
        vals = v_pages[ids].flatten(0, 1)[:n].repeat_interleave(repeat, 1)
        att = torch.einsum("hd,nhd->hn", q[b], keys) / q.shape[2] ** 0.5
        rows.append(torch.einsum("hn,nhd->hd", torch.softmax(att, -1), vals))
    return torch.stack(rows)
