# mistakes: not-shifted-last-dropped
"""One-hot labels and a sum of products over the vocabulary."""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    steps = logits.shape[1] - 1
    scores = logits[:, :steps]
    scores = scores.type(torch.promote_types(scores.dtype, torch.float32))
    labels = tokens[:, :steps]  # first wrong
    wanted = torch.arange(scores.shape[-1]).eq(labels.unsqueeze(-1))
    counts = labels.ne(ignore_index)
    centred = scores - scores.max(dim=-1, keepdim=True).values.detach()
    logp = centred - centred.exp().sum(-1, keepdim=True).log()
    per_token = -(logp * wanted).sum(-1)
    return per_token.mul(counts).sum() / counts.sum()
