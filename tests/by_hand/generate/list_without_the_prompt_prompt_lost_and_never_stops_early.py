# mistakes: prompt-lost, never-stops-early
"""The new tokens are collected in a list, and the prompt is only fed."""

import torch


def generate(step, tokens, max_new_tokens, eos=None):
    new = []
    ended = torch.zeros(tokens.size(0), dtype=torch.bool)
    feed, cache = tokens, None
    while len(new) < max_new_tokens:  # also wrong
        logits, cache = step(feed, cache)
        token = logits[:, -1].argmax(-1)
        if eos is not None:
            token = token.where(~ended, torch.full_like(token, eos))
            ended = ended | (token == eos)
        feed = token[:, None]
        new.append(feed)
    return torch.cat([tokens[:, :0], *new], dim=1)  # first wrong
