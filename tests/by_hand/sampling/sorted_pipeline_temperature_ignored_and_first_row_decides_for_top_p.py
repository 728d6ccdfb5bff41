# mistakes: temperature-ignored, first-row-decides-for-top-p
"""All steps on sorted probabilities, which go back with the inverse order at the end."""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    for bad in (temperature < 0, top_k is not None and top_k < 1, top_p is not None and not 0 < top_p <= 1):
        if bad:
            raise ValueError("bad option")
    if temperature == 0:
        return torch.zeros_like(logits).scatter_(1, logits.argmax(1)[:, None], 1.0)
    x = logits.to(torch.promote_types(logits.dtype, torch.float32))  # first wrong
    values, order = x.sort(1, descending=True)
    back = order.argsort(1)
    if top_k is not None:
        values = values.clone()
        values[:, top_k:] = -torch.inf
    shares = values.softmax(1)
    if top_p is not None:
        earlier = shares.cumsum(1) - shares
        shares = shares * (earlier[0] < top_p)  # also wrong
        shares = shares / shares.sum(1, keepdim=True)
    return shares.gather(1, back).to(logits.dtype)
