# mistakes: sequences-run-together
"""Everything flattened to rows at the beginning, as in many training scripts."""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    vocab = logits.shape[-1]
    rows = logits.reshape(-1, vocab)[:-1]  # first wrong
    labels = tokens.reshape(-1)[1:]
    rows = rows.to(torch.float64 if rows.dtype == torch.float64 else torch.float32)
    use = labels != ignore_index
    logp = rows[use].log_softmax(dim=1)
    picked = logp[torch.arange(logp.shape[0]), labels[use]]
    return picked.mean().neg()
