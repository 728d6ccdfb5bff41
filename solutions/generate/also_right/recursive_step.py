"""Make one token, and let a call of the same function make the others.

Each call has its own variables, so it overwrites none, and the first line ends the recursion.
Python stops at about a thousand nested calls, which limits the number of tokens.
"""

import torch


def continued(step, fed, cache, left, eos, ended):
    if left == 0 or (eos is not None and bool(torch.all(ended))):
        return []
    logits, cache = step(fed, cache)
    best = logits[:, -1].topk(1, dim=-1).indices
    if eos is not None:
        best = best * ~ended + eos * ended
        ended = ended | best.eq(eos)
    return [best, *continued(step, best, cache, left - 1, eos, ended)]


def generate(step, tokens, max_new_tokens, eos=None):
    ended = torch.zeros_like(tokens[:, :1], dtype=torch.bool)
    new = continued(step, tokens, None, max_new_tokens, eos, ended)
    return torch.cat([tokens, *new], dim=1)
