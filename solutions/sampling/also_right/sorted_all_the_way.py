"""Sort first, do every step on the sorted probabilities, and go back with the inverse order.

In sorted order, top-k compares column numbers with k, and both filters only cut the end of a row.
The vocabulary is sorted even if no option asks for it.
"""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("bad temperature or top_k")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("bad top_p")
    order = torch.argsort(logits, dim=1, descending=True)
    place = torch.argsort(order, dim=1)
    ranks = torch.arange(logits.shape[1], device=logits.device)
    if temperature == 0:
        return (place == 0).to(logits.dtype)
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    z = torch.take_along_dim(wide, order, 1) / temperature
    weights = (z - z[:, :1]).exp()
    if top_k is not None:
        weights = weights.where(ranks < top_k, 0.0)
    if top_p is not None:
        running = weights.cumsum(1)
        total = running[:, -1:]
        earlier = torch.nn.functional.pad(running[:, :-1], (1, 0))
        weights = weights.where(earlier < top_p * total, torch.zeros_like(weights))
    weights = weights / weights.sum(1, keepdim=True)
    return weights.gather(1, place).to(logits.dtype)
