"""Walk through the pages of each sequence with a running maximum and a running sum, as kernels do.

Only one page of keys and values is read at a time, so no copy of the whole cache is made. Python
loops over sequences and pages are slow; a kernel runs them in parallel. Each step rescales the
unfinished result.
"""

import torch


def decode(query, k_pages, v_pages, blocks, length):
    """Attend with query [Hkv, group, D] to the first `length` tokens of these pages."""
    page = k_pages.shape[1]
    peak = query.new_full((*query.shape[:2], 1), float("-inf"))
    total = torch.zeros_like(peak)
    mixed = torch.zeros_like(query)
    for number, block in enumerate(blocks):
        filled = min(page, length - number * page)
        if filled <= 0:
            break
        k = k_pages[block, :filled].transpose(0, 1)  # [Hkv, filled, D]
        v = v_pages[block, :filled].transpose(0, 1)
        score = query @ k.mT / query.shape[-1] ** 0.5  # [Hkv, group, filled]
        higher = torch.maximum(peak, score.amax(-1, keepdim=True))
        old, new = (peak - higher).exp(), (score - higher).exp()
        total = total * old + new.sum(-1, keepdim=True)
        mixed = mixed * old + new @ v
        peak = higher
    return mixed / total


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    heads, kv_heads = q.shape[1], k_pages.shape[2]
    grouped = q.unflatten(1, (kv_heads, heads // kv_heads))
    rows = block_table.tolist()
    results = [
        decode(grouped[b], k_pages, v_pages, rows[b], int(lengths[b])) for b in range(len(rows))
    ]
    return torch.stack(results).flatten(1, 2)
