# mistakes: last-eos-of-the-prompt-counts
# diagnosis: line elsewhere
"""A Python generator yields the columns."""

import torch


def columns(step, tokens, limit, eos):
    cache, feed = None, tokens
    stopped = torch.zeros_like(tokens[:, -1:], dtype=torch.bool)
    for _ in range(limit):
        logits, cache = step(feed, cache)
        feed = logits[:, -1].argmax(-1, keepdim=True)
        if eos is not None:
            feed = feed.masked_fill(stopped | (tokens[:, -1:] == eos), eos)  # first wrong
            stopped = stopped | (feed == eos)
        yield feed
        if eos is not None and bool(stopped.all()):
            return


def generate(step, tokens, max_new_tokens, eos=None):
    return torch.cat([tokens, *columns(step, tokens, max_new_tokens, eos)], dim=1)
