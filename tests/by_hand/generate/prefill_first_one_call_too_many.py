# mistakes: one-call-too-many
"""The prompt before the loop; inside the loop, the next call comes at the end of the body."""

import torch


def generate(step, tokens, max_new_tokens, eos=None):
    if max_new_tokens == 0:
        return tokens.clone()
    logits, cache = step(tokens, None)
    out = tokens
    alive = torch.ones(len(tokens), 1, dtype=torch.bool)
    for _ in range(max_new_tokens):
        token = logits[:, -1].topk(1).indices
        if eos is not None:
            token = torch.where(alive, token, eos)
            alive = alive & (token != eos)
        out = torch.cat((out, token), 1)
        logits, cache = step(token, cache)  # first wrong
        if eos is not None and not alive.any():
            break
    return out
