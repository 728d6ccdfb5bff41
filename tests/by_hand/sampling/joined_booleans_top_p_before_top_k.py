# mistakes: top-p-before-top-k
"""Both filters make a boolean of the kept tokens, and the booleans are joined at the end."""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0 or top_k is not None and top_k < 1 or top_p is not None and not 0 < top_p <= 1:
        raise ValueError("an option is out of range")
    if temperature == 0:
        return (logits == logits.amax(dim=1, keepdim=True)).to(logits.dtype)
    x = logits.double() / temperature
    keep = torch.ones_like(x, dtype=torch.bool)
    if top_k is not None:
        keep = x >= x.topk(min(top_k, x.shape[1]), dim=1).values[:, -1:]
    if top_p is not None:
        values, order = x.sort(dim=1, descending=True)
        share = torch.softmax(values, dim=1)  # first wrong
        before = share.cumsum(1) - share
        keep = keep & torch.zeros_like(keep).scatter(1, order, before < top_p)
    x = torch.where(keep, x, -torch.inf)
    return torch.softmax(x, dim=1).to(logits.dtype)
