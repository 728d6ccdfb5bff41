# mistakes: second-most-likely-token
"""Each token is made by a call of the same function."""

import torch


def rest(step, chunk, past, left, eos, ended):
    if left <= 0:
        return []
    scores, past = step(chunk, past)
    chosen = scores[:, -1].argsort(dim=-1, descending=True)[:, 1:2]  # first wrong
    if eos is not None:
        chosen = chosen.masked_fill(ended, eos)
        ended = ended | chosen.eq(eos)
        if ended.all():
            return [chosen]
    return [chosen] + rest(step, chosen, past, left - 1, eos, ended)


def generate(step, tokens, max_new_tokens, eos=None):
    ended = torch.zeros(tokens.shape[0], 1).bool()
    return torch.cat([tokens] + rest(step, tokens, None, max_new_tokens, eos, ended), dim=-1)
