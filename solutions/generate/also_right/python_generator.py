"""Let a Python generator yield the columns, as a server that streams its tokens does.

A caller can stop at any time, or show each token immediately. The state lives in a suspended
function, which is harder to inspect and cannot be copied for a second continuation.
"""

from itertools import islice

import torch


def stream(step, tokens, eos):
    cache, fed = None, tokens
    running = torch.ones(len(tokens), 1, dtype=torch.bool)
    while True:
        logits, cache = step(fed, cache)
        fed = logits[:, -1:].argmax(-1)
        if eos is not None:
            fed = fed.where(running, torch.full_like(fed, eos))
            running = fed.ne(eos)
        yield fed
        if eos is not None and not running.any():
            return


def generate(step, tokens, max_new_tokens, eos=None):
    result = tokens.clone()
    for column in islice(stream(step, tokens, eos), max_new_tokens):
        result = torch.hstack([result, column])
    return result
