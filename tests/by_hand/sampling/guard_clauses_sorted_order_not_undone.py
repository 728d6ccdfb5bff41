# mistakes: sorted-order-not-undone
"""Guard clauses first, then additive penalties of -inf for what is removed."""

import torch


def penalty(removed, like):
    return torch.zeros_like(like).masked_fill(removed, -torch.inf)


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature must be >= 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be >= 1")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError("top_p must be in (0, 1]")
    if temperature == 0:
        hot = torch.zeros_like(logits)
        hot[torch.arange(len(logits)), logits.argmax(-1)] = 1
        return hot
    energy = logits.to(torch.promote_types(logits.dtype, torch.float32)).div(temperature)
    if top_k is not None and top_k < energy.shape[-1]:
        smallest = energy.topk(top_k).values.min(-1, keepdim=True).values
        energy = energy + penalty(energy < smallest, energy)
    if top_p is not None:
        ranked = energy.sort(-1, descending=True).values.softmax(-1)
        earlier = ranked.cumsum(-1) - ranked
        energy = energy + penalty(earlier >= top_p, energy)  # first wrong
    return energy.softmax(-1).to(logits.dtype)
