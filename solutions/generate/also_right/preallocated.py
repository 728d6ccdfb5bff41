"""Write the new tokens into a tensor that starts full of eos.

A new token copies no old ones, and a sequence that has ended needs no further writes. The tensor
has room for max_new_tokens, so an early end wastes memory until the result is freed.
"""

import torch


def generate(step, tokens, max_new_tokens, eos=None):
    batch, length = tokens.shape
    out = tokens.new_full((batch, length + max_new_tokens), 0 if eos is None else eos)
    out[:, :length] = tokens
    running = torch.ones(batch, dtype=torch.bool, device=tokens.device)
    cache, begin, end = None, 0, length
    while end < out.shape[1] and running.any():
        logits, cache = step(out[:, begin:end], cache)
        best = logits.select(1, -1).max(dim=-1).indices
        out[:, end] = torch.where(running, best, out[:, end])
        if eos is not None:
            running = running & (best != eos)
        begin, end = end, end + 1
    return out[:, :end]
