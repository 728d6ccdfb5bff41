# mistakes: one-token-too-many-for-top-k, least-likely-first
"""The kept tokens of top-k are written into a tensor of -inf, by their indices."""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and not top_k > 0:
        raise ValueError("top_k")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p")
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(1), logits.size(1)).to(logits.dtype)
    x = logits.double() / temperature
    if top_k is not None:
        kept = x.topk(min(top_k + 1, x.size(1)), dim=1)  # first wrong
        x = torch.full_like(x, -torch.inf).scatter(1, kept.indices, kept.values)
    if top_p is not None:
        ranked, index = torch.sort(x, dim=1)  # also wrong
        share = ranked.softmax(1)
        ranked = ranked.masked_fill(share.cumsum(1) - share >= top_p, -torch.inf)
        x = torch.full_like(x, -torch.inf).scatter(1, index, ranked)
    return x.softmax(1).to(logits.dtype)
