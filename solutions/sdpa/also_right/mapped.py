"""Write attention for a single query, and map it over queries and leading dims with vmap.

The formula has no dims to count, but every call pays for the nested vmap. Without a mask, it still
makes a boolean mask as large as the scores, on the CPU.
"""

import torch


def attend(query, keys, values, allowed):
    logits = keys @ query / keys.shape[-1] ** 0.5
    logits = torch.where(allowed, logits, -torch.inf)
    return torch.softmax(logits, dim=0) @ values


def scaled_dot_product_attention(q, k, v, mask=None):
    shape = (*q.shape[:-1], k.shape[-2])
    allowed = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    mapped = torch.vmap(attend, in_dims=(0, None, None, 0))
    for _ in q.shape[:-2]:
        mapped = torch.vmap(mapped)
    return mapped(q, k, v, allowed)
