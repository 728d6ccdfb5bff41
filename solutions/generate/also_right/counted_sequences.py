"""Count the eos among the new tokens of each sequence, instead of carrying a flag.

A cumulative maximum over the new tokens fills all ended sequences in one call, and you cannot
forget a flag. Every step looks at all new tokens again, so the work grows with their number.
"""

import torch
import torch.nn.functional as F


def generate(step, tokens, max_new_tokens, eos=None):
    start = tokens.size(1)
    grown = tokens
    cache = None
    for index in range(max_new_tokens):
        fed = grown if index == 0 else grown[:, -1:]
        logits, cache = step(fed, cache)
        grown = F.pad(grown, (0, 1))
        grown[:, -1] = torch.argmax(logits[:, -1], dim=-1)
        if eos is None:
            continue
        new = grown[:, start:]
        is_eos = (new == eos).int().cummax(dim=1).values.bool()
        grown = torch.cat([tokens, new.masked_fill(is_eos, eos)], dim=1)
        if is_eos[:, -1].all():
            return grown
    return grown
