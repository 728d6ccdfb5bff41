# mistakes: sorted-order-undone-with-gather
"""The filters write -inf into a copy of the logits."""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError
    if top_k is not None and top_k < 1:
        raise ValueError
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError
    if temperature == 0:
        return torch.zeros_like(logits).scatter(1, logits.argmax(1, keepdim=True), 1)
    x = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    filtered = x.clone()
    if top_k is not None:
        smallest = x.sort(1, descending=True).values[:, :top_k].amin(1, keepdim=True)
        filtered[x < smallest] = -torch.inf
    if top_p is not None:
        values, places = filtered.sort(1, descending=True)
        q = values.softmax(1)
        gone = q.cumsum(1) - q >= top_p
        gone = torch.take_along_dim(gone, places, dim=1)  # first wrong
        filtered[gone] = -torch.inf
    return filtered.softmax(1).to(logits.dtype)
