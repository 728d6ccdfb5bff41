# mistakes: heads-tiled
"""The axis of the group in front of the axis of the key/value heads."""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    B, H, D = q.shape
    G = k_pages.size(2)
    queries = q.reshape(B, H // G, G, D)  # first wrong
    seen = torch.arange(block_table.size(1) * k_pages.size(1)).unsqueeze(0) < lengths.unsqueeze(1)
    gather = lambda x: x[block_table].flatten(1, 2).where(seen[:, :, None, None], x.new_zeros(()))
    logits = torch.einsum("brgd,bsgd->brgs", queries, gather(k_pages)) * D**-0.5
    logits = logits.masked_fill(~seen[:, None, None], torch.finfo(q.dtype).min)
    mixed = torch.einsum("brgs,bsgd->brgd", logits.softmax(-1), gather(v_pages))
    return mixed.reshape(B, H, D)
