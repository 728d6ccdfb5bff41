# mistakes: token-0-ignored-too, divided-by-all-tokens
"""Index tensors for batch and position pick the logits of the targets."""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    batch, length = tokens.shape
    x = logits[:, :-1].to(torch.promote_types(logits.dtype, torch.float32))
    y = tokens[:, 1:]
    pad = torch.logical_or(y == ignore_index, y == 0)  # first wrong
    b = torch.arange(batch).unsqueeze(1)
    t = torch.arange(length - 1).unsqueeze(0)
    picked = x[b, t, y.masked_fill(pad, 0)]
    nll = torch.logsumexp(x, dim=2) - picked
    total = torch.where(pad, torch.zeros_like(nll), nll).sum()
    return total / (tokens != ignore_index).sum()  # also wrong
