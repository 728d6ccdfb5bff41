# mistakes: shifted-backwards, sum-for-mean
"""Predictions and labels by narrow, the log-probabilities by log_softmax."""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    count = tokens.size(1) - 1
    scores = logits.narrow(1, 1, count)  # first wrong
    labels = tokens.narrow(1, 0, count)
    if scores.dtype is torch.bfloat16:
        scores = scores.float()
    ignored = labels.eq(ignore_index)
    logp = scores.log_softmax(-1)
    nll = logp.gather(-1, labels.masked_fill(ignored, 0)[..., None]).squeeze(-1).neg()
    return nll.masked_fill(ignored, 0.0).sum()  # also wrong
