# mistakes: mean-over-all-targets
"""The labels are padded at the end, and the weights of the targets are floats."""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    batch, length = tokens.shape
    work = torch.promote_types(logits.dtype, torch.float32)
    labels = torch.full_like(tokens, ignore_index)
    labels[:, :-1] = tokens[:, 1:]
    weight = (labels != ignore_index).to(work)
    index = labels.where(labels != ignore_index, torch.zeros_like(labels))
    logp = torch.nn.functional.log_softmax(logits.to(work), dim=-1)
    nll = -logp.gather(dim=-1, index=index.unsqueeze(-1)).squeeze(-1)
    return (nll * weight).sum() / (batch * (length - 1))  # first wrong
