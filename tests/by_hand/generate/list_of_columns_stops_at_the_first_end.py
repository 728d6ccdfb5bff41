# mistakes: stops-at-the-first-end
"""The new columns are collected in a list."""

import torch


def generate(step, tokens, max_new_tokens, eos=None):
    pieces = [tokens]
    cache = None
    over = torch.zeros_like(tokens[:, :1]).bool()
    while len(pieces) < max_new_tokens + 1:
        logits, cache = step(pieces[-1], cache)
        new = torch.argmax(logits[:, -1:], dim=-1)
        if eos is not None:
            new = new.masked_fill(over, eos)
            over = over | new.eq(eos)
        pieces.append(new)
        if eos is not None and over.sum() > 0:  # first wrong
            return torch.cat(pieces, dim=1)
    return torch.cat(pieces, dim=1)
