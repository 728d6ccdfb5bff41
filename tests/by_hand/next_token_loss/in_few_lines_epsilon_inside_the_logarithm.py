# mistakes: epsilon-inside-the-logarithm
"""Probabilities by softmax, and few lines."""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    y = tokens[:, 1:]
    use = y != ignore_index
    p = logits[:, :-1].softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    log_p = (p + 1e-9).log()  # first wrong
    return -(log_p.gather(-1, (y * use).unsqueeze(-1)).squeeze(-1) * use).sum() / use.sum()
