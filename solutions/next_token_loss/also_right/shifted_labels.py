"""Shift the labels instead of the logits: the last position gets an ignored label.

All positions stay in place and the logits are not sliced, so no large tensor is copied. The loss of
the last position of each sequence is computed and not used.
"""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    end = torch.full_like(tokens[:, :1], ignore_index)
    labels = torch.cat([tokens[:, 1:], end], dim=1).reshape(-1)
    scores = logits.reshape(len(labels), -1)
    if scores.dtype not in (torch.float32, torch.float64):
        scores = scores.to(torch.float32)
    ignored = labels == ignore_index
    picked = scores.log_softmax(1).gather(1, labels.clamp(0, scores.shape[1] - 1).view(-1, 1))
    losses = torch.where(ignored, torch.zeros_like(picked[:, 0]), -picked[:, 0])
    return losses.sum() / (~ignored).sum()
