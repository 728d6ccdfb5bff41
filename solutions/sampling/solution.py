"""The distribution of the next token: temperature, then top-k, then top-p.

    p_i = exp(z_i / T) / sum over the kept j of exp(z_j / T), and 0 for a token that is not kept

Top-k keeps the k largest logits (Fan et al. 2018). Top-p, or nucleus sampling, keeps the smallest
set of the most likely tokens whose probability together reaches p (Holtzman et al. 2019).
"""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    """Return probabilities [B, V] for logits [B, V]."""
    if temperature < 0:
        raise ValueError(f"temperature must not be negative, but it is {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, but it is {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, but it is {top_p}")
    if temperature == 0:
        # the limit of a small temperature; a division by 0 would give NaN
        largest = logits.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, largest, 1.0)
    work = torch.promote_types(logits.dtype, torch.float32)
    scaled = logits.to(work) / temperature
    if top_k is not None:
        count = min(top_k, logits.shape[-1])
        limit = scaled.topk(count, dim=-1).values[:, -1:]
        # -inf has the probability 0, and the softmax at the end shares the rest
        scaled = torch.where(scaled < limit, float("-inf"), scaled)
    if top_p is not None:
        ordered, order = scaled.sort(dim=-1, descending=True)
        shares = ordered.softmax(dim=-1)
        # without the token itself: the token that reaches top_p is kept, and so is the first
        before = shares.cumsum(dim=-1) - shares
        dropped_in_order = before >= top_p
        # entry i of the sorted row belongs to token order[i]
        dropped = torch.zeros_like(dropped_in_order).scatter(-1, order, dropped_in_order)
        scaled = torch.where(dropped, float("-inf"), scaled)
    probabilities = scaled.softmax(dim=-1)
    return probabilities.to(logits.dtype)
