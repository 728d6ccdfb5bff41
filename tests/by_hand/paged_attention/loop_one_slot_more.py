# mistakes: mask-one-slot-too-many
"""Each sequence by itself, with a mask over all slots of its pages."""

import math

import torch


def attend(query, keys, values, hidden):
    heads = keys.shape[1]
    grouped = query.view(heads, -1, query.shape[-1])
    scores = torch.einsum("grd,sgd->grs", grouped, keys) / math.sqrt(query.shape[-1])
    p = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return torch.einsum("grs,sgd->grd", p, values).flatten(0, 1)


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    results = []
    for query, row, length in zip(q.contiguous(), block_table, lengths):
        pages = row.clamp(min=0)
        keys, values = (x[pages].flatten(0, 1) for x in (k_pages, v_pages))
        hidden = torch.arange(len(keys), device=q.device) > length  # first wrong
        keys = keys.masked_fill(hidden[:, None, None], 0)
        values = values.masked_fill(hidden[:, None, None], 0)
        results.append(attend(query, keys, values, hidden))
    return torch.stack(results)
