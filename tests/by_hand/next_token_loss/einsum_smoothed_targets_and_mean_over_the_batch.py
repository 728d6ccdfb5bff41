# mistakes: smoothed-targets, mean-over-the-batch
"""Target distributions of the whole vocabulary, multiplied with log-probabilities by einsum."""

import torch
import torch.nn.functional as F


def next_token_loss(logits, tokens, ignore_index=-100):
    labels = tokens[:, 1:]
    counts = labels != ignore_index
    dtype = torch.promote_types(logits.dtype, torch.float32)
    vocab = logits.shape[-1]
    logp = F.log_softmax(logits[:, :-1].to(dtype), dim=-1)
    hard = F.one_hot(labels.masked_fill(~counts, 0), vocab).to(dtype)
    nll = -torch.einsum("blv,blv->bl", 0.9 * hard + 0.1 / vocab, logp)  # first wrong
    return nll[counts].sum() / len(tokens)  # also wrong
