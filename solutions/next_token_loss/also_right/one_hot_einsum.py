"""Multiply the log-probabilities by one-hot targets, in which an ignored target is a row of zeros.

A single einsum sums over the vocabulary and over the targets, and an ignored target needs no index.
The one-hot tensor takes as much memory as the logits.
"""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    vocabulary = torch.arange(logits.size(-1), device=tokens.device)
    targets = tokens[:, 1:, None]
    is_target = (targets == vocabulary) & (targets != ignore_index)
    weights = is_target.to(torch.promote_types(logits.dtype, torch.float32))
    log_probs = torch.nn.functional.log_softmax(logits[:, :-1].to(weights.dtype), dim=2)
    return -torch.einsum("blv,blv->", weights, log_probs) / weights.sum()
