# mistakes: temperature-multiplied
"""Everything in float64, with probabilities that are filtered and divided by their sum."""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("negative temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if top_p is not None and not (0 < top_p <= 1):
        raise ValueError("top_p")
    vocab = logits.shape[1]
    if temperature == 0:
        return torch.eye(vocab, dtype=logits.dtype)[logits.argmax(1)]
    z = logits.double()
    z = z * temperature  # first wrong
    p = torch.softmax(z, 1)
    rank = p.argsort(1, descending=True).argsort(1)
    if top_k is not None:
        p = p * (rank < top_k)
        p = p / p.sum(1, keepdim=True)
    if top_p is not None:
        best_first = p.sort(1, descending=True).values
        before = best_first.cumsum(1) - best_first
        p = p * (before.gather(1, rank) < top_p)
        p = p / p.sum(1, keepdim=True)
    return p.to(logits.dtype)
