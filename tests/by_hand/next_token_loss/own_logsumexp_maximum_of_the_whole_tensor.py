# mistakes: maximum-of-the-whole-tensor
"""A logsumexp of one's own, and boolean selection of the targets that count."""

import torch


def log_sum_exp(x):
    top = x.max()  # first wrong
    return (x - top).exp().sum(dim=-1).log() + top


def next_token_loss(logits, tokens, ignore_index=-100):
    labels = tokens[:, 1:]
    use = labels != ignore_index
    rows = logits[:, :-1][use]
    if rows.dtype == torch.bfloat16:
        rows = rows.float()
    chosen = rows.gather(1, labels[use].unsqueeze(1)).squeeze(1)
    return (log_sum_exp(rows) - chosen).mean()
