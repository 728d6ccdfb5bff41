# mistakes: mean-of-the-means
"""A helper for the losses of all targets, and matrix products for the sums."""

import torch


def losses_of(logits, labels, ignored):
    lse = torch.logsumexp(logits, -1)
    at_label = torch.take_along_dim(logits, labels.masked_fill(ignored, 0)[..., None], -1)[..., 0]
    return (lse - at_label).masked_fill(ignored, 0)


def next_token_loss(logits, tokens, ignore_index=-100):
    if logits.dtype == torch.bfloat16:
        logits = logits.to(torch.float32)
    labels = tokens[:, 1:]
    ignored = labels == ignore_index
    nll = losses_of(logits[:, :-1], labels, ignored)
    numbers = (~ignored).sum(-1)
    of_sequences = nll.sum(-1) / numbers.clamp(min=1)  # first wrong
    return torch.mean(of_sequences)
