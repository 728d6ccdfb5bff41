"""Shift the flags of removed tokens one place to the right, as in well-known sampling scripts.

The shift keeps the token that crosses top_p, and a False at the front keeps the first token. The
flags are written twice, and no write may reach the caller's logits.
"""

import torch
import torch.nn.functional as F


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if not temperature >= 0:
        raise ValueError(temperature)
    if top_k is not None and not top_k >= 1:
        raise ValueError(top_k)
    if top_p is not None and not (top_p > 0 and top_p <= 1):
        raise ValueError(top_p)
    if temperature == 0:
        return F.one_hot(logits.argmax(-1), logits.size(-1)).type_as(logits)
    scores = logits.float() if logits.dtype == torch.bfloat16 else logits.clone()
    scores = scores / temperature
    if top_k is not None:
        k = min(top_k, scores.size(-1))
        scores[scores < scores.topk(k)[0][..., -1, None]] = -float("inf")
    if top_p is not None:
        sorted_scores, sorted_indices = torch.sort(scores, descending=True)
        remove = F.softmax(sorted_scores, dim=-1).cumsum(dim=-1) >= top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        back = torch.empty_like(remove).scatter_(1, sorted_indices, remove)
        scores[back] = -float("inf")
    return F.softmax(scores, dim=-1).to(logits.dtype)
