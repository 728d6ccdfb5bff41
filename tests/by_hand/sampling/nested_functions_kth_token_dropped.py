# mistakes: kth-token-dropped
"""Nested functions for the two filters, kthvalue for the limit."""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    def by_number(x):
        size = x.shape[-1]
        limit = x.kthvalue(max(size - top_k, 0) + 1, dim=-1, keepdim=True).values
        return torch.where(x > limit, x, -torch.inf)  # first wrong

    def by_mass(x):
        high, index = x.sort(dim=-1, descending=True)
        share = high.softmax(-1)
        high = torch.where(share.cumsum(-1) - share < top_p, high, -torch.inf)
        return torch.empty_like(high).scatter_(-1, index, high)

    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p")
    if not temperature:
        return (logits == logits.amax(-1, keepdim=True)).type_as(logits)
    x = logits.type(torch.promote_types(logits.dtype, torch.float32)) / temperature
    x = x if top_k is None else by_number(x)
    x = x if top_p is None else by_mass(x)
    return x.softmax(-1).type_as(logits)
