"""Compute the slot number of every token, and read the flat cache at these numbers, in float32.

Serving systems keep such numbers as a slot mapping, because writing new tokens needs them too. The
numbers take one integer per token, and float32 needs twice the memory for bfloat16 caches.
"""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    page, kv_heads, dim = k_pages.shape[1:]
    token = torch.arange(int(lengths.max()), device=q.device)
    real = token < lengths[:, None]  # [B, longest]
    number = block_table[:, token // page] * page + token % page
    # unused places read token 0 of their sequence, which is finite and is hidden below
    number = torch.where(real, number, number[:, :1])

    def read(pages):
        flat = pages.reshape(-1, kv_heads, dim).float()
        found = flat.index_select(0, number.flatten()).view(*number.shape, kv_heads, dim)
        return found.permute(0, 2, 1, 3).repeat_interleave(q.shape[1] // kv_heads, dim=1)

    logits = (read(k_pages) @ q.float().unsqueeze(-1)).squeeze(-1) / dim**0.5  # [B, H, longest]
    weights = logits.masked_fill(~real.unsqueeze(1), -1e30).softmax(-1)
    return (weights.unsqueeze(2) @ read(v_pages)).squeeze(2).to(q.dtype)
