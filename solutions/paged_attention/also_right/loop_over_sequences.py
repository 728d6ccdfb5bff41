"""Loop over the sequences, and slice the tokens of each sequence out of its pages.

The slice has no unused slots, so it needs no mask, and NaN cannot reach the result. Every length is
read as a Python number: on a GPU, the CPU waits for it, and short sequences do not fill the GPU.
"""

import math

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    page = k_pages.shape[1]
    group = q.shape[1] // k_pages.shape[2]
    out = []
    for query, row, length in zip(q, block_table, lengths.tolist()):
        blocks = row[: math.ceil(length / page)]
        k = k_pages[blocks].flatten(0, 1)[:length].repeat_interleave(group, dim=1)  # [length, H, D]
        v = v_pages[blocks].flatten(0, 1)[:length].repeat_interleave(group, dim=1)
        scores = torch.einsum("hd,nhd->hn", query, k) / math.sqrt(q.shape[-1])
        out.append(torch.einsum("hn,nhd->hd", scores.softmax(dim=-1), v))
    return torch.stack(out)
