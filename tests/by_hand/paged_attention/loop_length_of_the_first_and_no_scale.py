# mistakes: length-of-the-first-sequence, no-scale
"""Uses lengths[0] in the loop."""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    out = []
    group = q.shape[1] // k_pages.shape[2]
    for b in range(len(q)):
        keep = torch.arange(block_table.shape[1] * k_pages.shape[1]) < lengths[0]  # first wrong
        ids = block_table[b].clamp(min=0)
        k = k_pages[ids].flatten(0, 1)[keep]
        v = v_pages[ids].flatten(0, 1)[keep]
        k = k.repeat_interleave(group, 1).transpose(0, 1)
        v = v.repeat_interleave(group, 1).transpose(0, 1)
        s = k @ q[b].unsqueeze(-1)  # also wrong
        out.append((s.softmax(1).mT @ v).squeeze(1))
    return torch.stack(out)
