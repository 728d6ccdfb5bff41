"""Greedy decoding with a KV cache, for a batch of sequences of equal length.

    y_t = argmax over v of logits(y_1 .. y_(t-1))[v], until every sequence has produced eos

The prompt goes through the model once. Afterwards the cache holds all earlier keys and values, so a
step needs only the newest token (Pope et al. 2022, Efficiently Scaling Transformer Inference).
"""

import torch


@torch.no_grad()
def generate(step, tokens, max_new_tokens, eos=None):
    """Return the prompts [B, L] with at most max_new_tokens new tokens: [B, L + m]."""
    sequences = tokens
    fed = tokens
    cache = None
    # an eos of the prompt does not count: only produced tokens end a sequence
    ended = torch.zeros(tokens.shape[0], 1, dtype=torch.bool, device=tokens.device)
    for _ in range(max_new_tokens):
        logits, cache = step(fed, cache)
        # the logits at the last position are a prediction of the next token
        newest = logits[:, -1].argmax(dim=-1, keepdim=True)
        if eos is not None:
            newest = torch.where(ended, eos, newest)
            ended = ended | (newest == eos)
        sequences = torch.cat([sequences, newest], dim=1)
        fed = newest
        # without a further call of step: its logits would not be used
        if eos is not None and bool(ended.all()):
            break
    return sequences
