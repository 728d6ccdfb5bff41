# mistakes: least-likely-token, eos-of-the-prompt-counts
"""A helper chooses the token by sorting."""

import torch


def choose(logits):
    return logits[:, -1].sort(dim=-1).indices[:, :1]  # first wrong


def generate(step, tokens, max_new_tokens, eos=None):
    text, feed, cache = tokens, tokens, None
    ended = torch.zeros(len(tokens), 1, dtype=torch.bool)
    if eos is not None:
        ended = (tokens == eos).any(dim=1, keepdim=True)  # also wrong
    for _ in range(max_new_tokens):
        logits, cache = step(feed, cache)
        feed = choose(logits)
        if eos is not None:
            feed = torch.where(ended, eos, feed)
            ended = ended | (feed == eos)
        text = torch.cat([text, feed], dim=1)
        if eos is not None and ended.all():
            break
    return text
