# mistakes: logits-of-the-position-before-the-last, ended-sequences-filled-with-0
"""A loop with the index of the step; the flags are integers."""

import torch


def generate(step, tokens, max_new_tokens, eos=None):
    cache = None
    output = tokens.clone()
    active = torch.ones(tokens.shape[0], 1, dtype=torch.int64)
    for index in range(max_new_tokens):
        chunk = output if index == 0 else output[:, -1:]
        logits, cache = step(chunk, cache)
        token = logits[:, -2:][:, 0].argmax(dim=-1).view(-1, 1)  # first wrong
        if eos is not None:
            token = token * active  # also wrong
            active = active * (token != eos)
        output = torch.cat([output, token], dim=1)
        if eos is not None and active.sum() == 0:
            break
    return output
