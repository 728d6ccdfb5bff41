# mistakes: softmax-over-positions
"""A small class that keeps the option, and log-probabilities by log_softmax."""

import torch
from torch import Tensor


class LanguageModelLoss:
    """The loss with its ignored index."""

    def __init__(self, ignore_index: int) -> None:
        self.ignore_index = ignore_index

    def log_probs(self, logits: Tensor) -> Tensor:
        if logits.dtype is torch.bfloat16:
            logits = logits.float()
        return torch.log_softmax(logits, dim=1)  # first wrong

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        valid = labels.ne(self.ignore_index)
        safe = torch.where(valid, labels, torch.zeros_like(labels))
        nll = -self.log_probs(logits).gather(2, safe[:, :, None])[:, :, 0]
        return (nll * valid).sum() / valid.sum()


def next_token_loss(logits, tokens, ignore_index=-100):
    return LanguageModelLoss(ignore_index)(logits[:, :-1, :], tokens[:, 1:])
