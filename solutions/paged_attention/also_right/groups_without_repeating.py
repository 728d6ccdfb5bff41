"""Give the queries an axis for the group, and let one product serve all heads of a group.

Keys and values are never repeated, so the copy of the cache stays H / Hkv times smaller. -1 in the
table reads the last page, which is harmless, because torch.where replaces these slots.
"""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    B, H, D = q.shape
    P, page, G, _ = k_pages.shape
    slots = block_table.shape[1] * page
    valid = torch.arange(slots, device=q.device).expand(B, slots) < lengths.unsqueeze(1)
    zero = torch.zeros((), dtype=q.dtype, device=q.device)

    def collect(pages):
        gathered = pages[block_table].reshape(B, slots, G, D)
        return torch.where(valid[:, :, None, None], gathered, zero)

    queries = q.reshape(B, G, H // G, D) * D**-0.5
    logits = torch.einsum("bgrd,bsgd->bgrs", queries, collect(k_pages))
    bias = torch.zeros(B, slots, dtype=q.dtype, device=q.device).masked_fill_(~valid, -torch.inf)
    weights = (logits + bias[:, None, None]).softmax(dim=-1)
    return torch.einsum("bgrs,bsgd->bgrd", weights, collect(v_pages)).reshape(B, H, D)
