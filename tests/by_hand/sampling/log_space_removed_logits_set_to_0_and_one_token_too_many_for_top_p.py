# mistakes: removed-logits-set-to-0, one-token-too-many-for-top-p
"""Log-probabilities for the cumulative sum, with logcumsumexp."""

import math

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p")
    if temperature == 0:
        return (logits == logits.max(1, keepdim=True).values).to(logits.dtype)
    x = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    if top_k is not None:
        smallest = x.topk(min(top_k, x.shape[1]), dim=1).values[:, -1:]
        x = x * (x >= smallest)  # first wrong
    if top_p is not None:
        logs, index = x.log_softmax(1).sort(dim=1, descending=True)
        mass = logs.logcumsumexp(1)
        start = torch.full_like(mass[:, :1], -torch.inf)
        before = torch.cat([start, start, mass[:, :-2]], dim=1)[:, : x.shape[1]]  # also wrong
        removed = before >= math.log(top_p)
        x = x.masked_fill(torch.zeros_like(removed).scatter(1, index, removed), -torch.inf)
    return x.softmax(1).to(logits.dtype)
