# mistakes: logits-of-the-first-position
"""A while loop that counts the missing tokens down."""

import torch


def generate(step, tokens, max_new_tokens, eos=None):
    missing = max_new_tokens
    text, feed, past = tokens, tokens, None
    ended = torch.zeros(len(text), dtype=torch.bool)
    while missing > 0:
        missing -= 1
        logits, past = step(feed, past)
        following = logits[:, 0].argmax(dim=1)  # first wrong
        if eos is not None:
            following = torch.where(ended, eos, following)
            ended = torch.logical_or(ended, following == eos)
        feed = following[:, None]
        text = torch.cat([text, feed], dim=1)
        if eos is not None and torch.all(ended):
            missing = 0
    return text
