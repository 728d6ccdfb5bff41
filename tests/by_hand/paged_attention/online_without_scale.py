# mistakes: no-scale
"""Page by page with a running maximum; the scale is missing."""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    page = k_pages.shape[1]
    share = q.shape[1] // k_pages.shape[2]
    results = []
    for i, left in enumerate(lengths.tolist()):
        top, bottom, acc = None, None, None
        for page_id in block_table[i].tolist():
            n = min(page, left)
            left -= n
            if n == 0:
                break
            k = k_pages[page_id, :n].repeat_interleave(share, dim=1)
            v = v_pages[page_id, :n].repeat_interleave(share, dim=1)
            s = (k * q[i]).sum(-1)  # first wrong
            best = s.amax(0) if top is None else torch.maximum(top, s.amax(0))
            e = (s - best).exp()
            new_acc = (e[..., None] * v).sum(0)
            if top is None:
                bottom, acc = e.sum(0), new_acc
            else:
                fade = (top - best).exp()
                bottom, acc = bottom * fade + e.sum(0), acc * fade[:, None] + new_acc
            top = best
        results.append(acc / bottom[:, None])
    return torch.stack(results)
