"""Subtract the target's logit from all logits: the loss is the logsumexp of the differences.

The subtraction of two large numbers disappears, so a confident prediction keeps all its digits. The
differences take another tensor of the size of the logits.
"""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    predicted = logits.narrow(1, 0, logits.size(1) - 1)
    predicted = predicted.double() if logits.dtype == torch.float64 else predicted.float()
    wanted = tokens.narrow(1, 1, tokens.size(1) - 1)
    counted = wanted.ne(ignore_index).to(predicted.dtype)
    index = torch.where(wanted == ignore_index, torch.zeros_like(wanted), wanted)
    differences = predicted - predicted.take_along_dim(index[..., None], dim=-1)
    per_target = torch.logsumexp(differences, 2)
    return (per_target * counted).sum().div(counted.sum()).to(logits.dtype)
