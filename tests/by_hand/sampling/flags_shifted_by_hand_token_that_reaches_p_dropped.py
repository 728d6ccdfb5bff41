# mistakes: token-that-reaches-p-dropped
"""The filters as functions that return the logits, with in-place writes into a copy."""

import torch
import torch.nn.functional as F


def keep_top_k(scores, k):
    k = min(k, scores.size(-1))
    kth = scores.topk(k).values[..., -1, None]
    scores[scores < kth] = -float("inf")
    return scores


def keep_top_p(scores, p):
    ranked, index = scores.sort(descending=True)
    mass = F.softmax(ranked, dim=-1).cumsum(dim=-1)
    remove = mass >= p  # first wrong
    back = torch.zeros_like(remove).scatter_(-1, index, remove)
    scores[back] = -float("inf")
    return scores


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0.0:
        raise ValueError(f"temperature {temperature}")
    if (top_k is not None and top_k < 1) or (top_p is not None and not 0.0 < top_p <= 1.0):
        raise ValueError("top_k or top_p")
    if temperature == 0:
        return F.one_hot(logits.argmax(dim=-1), logits.size(-1)).to(logits)
    scores = logits.to(torch.float64) / temperature
    if top_k is not None:
        scores = keep_top_k(scores, top_k)
    if top_p is not None:
        scores = keep_top_p(scores, top_p)
    return F.softmax(scores, dim=-1).to(logits)
